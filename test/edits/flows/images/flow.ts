/** Images from two mirrors, made smaller by two workers with one queue. */
import { step, workflow } from "stepmark";
import { done, log } from "../bodies.js";

const ask = async (mirror: string) => done("ask", mirror);
const shrink = async (image: string) => done("shrink", image);
const upload = async (image: string) => done("upload", image);
const index = async (count: number) => done("index", count);

export const w = workflow("images", async (images: string[]) => {
  const mirrors = ["slow", "fast"];
  const mirror = await Promise.race(mirrors.map((name) => step(ask, name)));
  const queue = [...images];
  const uploaded: string[] = [];
  const worker = async () => {
    for (let image = queue.shift(); image !== undefined; image = queue.shift()) {
      log(image);
      const small = await step(shrink, image);
      uploaded.push(await step(upload, small));
    }
  };
  log("workers");
  await Promise.all([worker(), worker()]);
  log("end");
  const indexed = await step(index, uploaded.length);
  return { mirror, indexed, count: uploaded.length };
});

export const input = ["a.png", "b.png", "c.png"];

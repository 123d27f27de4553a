/** Files that are transferred with retries, two at a time: callbacks that other functions call. */
import { step, workflow } from "stepmark";
import { done, fail, limiter, log } from "../bodies.js";

const download = async (name: string, attempt: number) =>
  attempt === 0 ? fail("download", name, attempt) : done("download", name, attempt);
const check = async (data: string) => done("check", data);
const save = async (data: string) => done("save", data);
const finish = async (count: number) => done("finish", count);

async function retry<T>(times: number, task: (attempt: number) => Promise<T>): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await task(attempt);
    } catch (error) {
      if (attempt + 1 >= times) throw error;
    }
  }
}

export const w = workflow("transfer", async (names: string[]) => {
  const limit = limiter(2);
  const saved = await Promise.all(
    names.map((name) =>
      limit(async () => {
        log(name);
        const data = await retry(3, (attempt) => step(download, name, attempt));
        const checked = await step(check, data);
        return step(save, checked);
      }),
    ),
  );
  log("end");
  const end = await step(finish, saved.length);
  return { saved, end };
});

export const input = ["x.txt", "y.txt", "z.txt"];

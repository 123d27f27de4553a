import { step, workflow } from "stepmark";
import * as work from "../../correctness/work.js";
import type { Engine, Place } from "../contender.js";
import { openEngine } from "./engine.js";

const print = (page: work.Page): Promise<string> => work.print(page, () => step(work.typeset, page));

const flows = {
  A1: workflow("A1", async () => [await step(print, new work.Page("a")), await step(print, new work.Page("b"))]),
  B1: workflow("B1", async () => branches()),
  B2: workflow("B2", async () => branches()),
  B4: workflow("B4", async (pages: string[]) =>
    Promise.all(pages.map(async (page) => step(work.render, await step(work.load, page)))),
  ),
  B6: workflow("B6", async (images: string[]) => {
    const queue = [...images];
    const results = new Map<string, string>();
    const worker = async (): Promise<void> => {
      for (let image = queue.shift(); image !== undefined; image = queue.shift()) {
        results.set(image, await step(work.shrink, image));
      }
    };
    await Promise.all([worker(), worker()]);
    return images.map((image) => results.get(image)!);
  }),
  B7: workflow("B7", async () => {
    const fastest = await Promise.race([step(work.ask, "slow"), step(work.ask, "fast")]);
    return step(work.orderFrom, fastest);
  }),
  C1: workflow("C1", async () => {
    await step(work.prepare);
    return Promise.all([step(work.done), step(work.flaky)]);
  }),
};

async function branches(): Promise<string[]> {
  const branch = async (name: string): Promise<string> => {
    await step(work.predecessor, name);
    return step(work.shared, name);
  };
  return step(work.combine, await Promise.all([branch("A"), branch("B")]));
}

export async function open(place: Place, edited: boolean): Promise<Engine> {
  const order = await (edited ? import("./order/after-edit.js") : import("./order/before-edit.js"));
  return openEngine(place, { ...flows, ...order });
}

import { DBOS } from "@dbos-inc/dbos-sdk";
import * as work from "../../correctness/work.js";
import type { Engine, Place } from "../contender.js";
import { type Flow, openEngine } from "./engine.js";

const step = <T>(name: string, body: () => Promise<T>): Promise<T> => DBOS.runStep(body, { name });

const print = (page: work.Page): Promise<string> =>
  step("print", () => work.print(page, () => step("typeset", () => work.typeset(page))));

async function branch(which: string): Promise<string> {
  await step("predecessor", () => work.predecessor(which));
  return step("shared", () => work.shared(which));
}

async function branches(): Promise<string[]> {
  const results = await Promise.all([branch("A"), branch("B")]);
  return step("combine", () => work.combine(results));
}

const flows: Record<string, Flow> = {
  async A1() {
    return [await print(new work.Page("a")), await print(new work.Page("b"))];
  },
  B1: () => branches(),
  B2: () => branches(),
  async B4(pages: string[]) {
    return Promise.all(
      pages.map(async (page) => {
        const text = await step("load", () => work.load(page));
        return step("render", () => work.render(text));
      }),
    );
  },
  async B6(images: string[]) {
    const queue = [...images];
    const results = new Map<string, string>();
    const worker = async (): Promise<void> => {
      for (let image = queue.shift(); image !== undefined; image = queue.shift()) {
        const next = image;
        results.set(next, await step("shrink", () => work.shrink(next)));
      }
    };
    await Promise.all([worker(), worker()]);
    return images.map((image) => results.get(image)!);
  },
  async B7() {
    const ask = (which: string) => step("ask", () => work.ask(which));
    const fastest = await Promise.race([ask("slow"), ask("fast")]);
    return step("order", () => work.orderFrom(fastest));
  },
  async C1() {
    await step("prepare", work.prepare);
    return Promise.all([
      step("done", work.done),
      DBOS.runStep(work.flaky, { name: "flaky", retriesAllowed: true, intervalSeconds: 0.1 }),
    ]);
  },
};

const before: Record<string, Flow> = {
  async E2() {
    return [await step("reserve", work.reserve), await step("charge", work.charge), await step("ship", work.ship)];
  },
  async E3() {
    const first = await step("notify", () => work.notify("a"));
    return step("finish", () => work.finish([first]));
  },
};

const after: Record<string, Flow> = {
  async E2() {
    return [
      await step("reserve", work.reserve),
      await step("audit", work.audit),
      await step("charge", work.charge),
      await step("ship", work.ship),
    ];
  },
  async E3() {
    const second = await step("notify", () => work.notify("b"));
    const first = await step("notify", () => work.notify("a"));
    return step("finish", () => work.finish([second, first]));
  },
};

export const open = (place: Place, edited: boolean): Promise<Engine> =>
  openEngine(place, { ...flows, ...(edited ? after : before) });

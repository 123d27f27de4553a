import { RestatePromise, type WorkflowContext } from "@restatedev/restate-sdk";
import * as work from "../../correctness/work.js";
import type { Engine, Place } from "../contender.js";
import { type Flow, openEngine } from "./engine.js";

async function branch(context: WorkflowContext, which: string): Promise<string> {
  await context.run("predecessor", () => work.predecessor(which));
  return context.run("shared", () => work.shared(which));
}

async function branches(context: WorkflowContext): Promise<string[]> {
  const results = await Promise.all([branch(context, "A"), branch(context, "B")]);
  return context.run("combine", () => work.combine(results));
}

const flows: Record<string, Flow> = {
  B1: branches,
  B2: branches,
  async B4(context, pages: string[]) {
    return Promise.all(
      pages.map(async (page) => {
        const text = await context.run("load", () => work.load(page));
        return context.run("render", () => work.render(text));
      }),
    );
  },
  async B6(context, images: string[]) {
    const queue = [...images];
    const results = new Map<string, string>();
    const worker = async (): Promise<void> => {
      for (let image = queue.shift(); image !== undefined; image = queue.shift()) {
        const next = image;
        results.set(next, await context.run("shrink", () => work.shrink(next)));
      }
    };
    await Promise.all([worker(), worker()]);
    return images.map((image) => results.get(image)!);
  },
  // Its own race, which is recorded.
  async B7(context) {
    const ask = (which: string) => context.run("ask", () => work.ask(which));
    const fastest = await RestatePromise.race([ask("slow"), ask("fast")]);
    return context.run("order", () => work.orderFrom(fastest));
  },
  async C1(context) {
    await context.run("prepare", work.prepare);
    return RestatePromise.all([context.run("done", work.done), context.run("flaky", work.flaky)]);
  },
};

const before: Record<string, Flow> = {
  async E2(context) {
    return [
      await context.run("reserve", work.reserve),
      await context.run("charge", work.charge),
      await context.run("ship", work.ship),
    ];
  },
  async E3(context) {
    const first = await context.run("notify", () => work.notify("a"));
    return context.run("finish", () => work.finish([first]));
  },
};

const after: Record<string, Flow> = {
  async E2(context) {
    return [
      await context.run("reserve", work.reserve),
      await context.run("audit", work.audit),
      await context.run("charge", work.charge),
      await context.run("ship", work.ship),
    ];
  },
  async E3(context) {
    const second = await context.run("notify", () => work.notify("b"));
    const first = await context.run("notify", () => work.notify("a"));
    return context.run("finish", () => work.finish([second, first]));
  },
};

export const open = (place: Place, edited: boolean): Promise<Engine> =>
  openEngine(place, { ...flows, ...(edited ? after : before) });

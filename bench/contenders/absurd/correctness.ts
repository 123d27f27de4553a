import type { TaskContext } from "absurd-sdk";
import * as work from "../../correctness/work.js";
import type { Engine, Place } from "../contender.js";
import { type Flow, openEngine } from "./engine.js";

/** A step's name, for a call that has to do with `which`. */
type Name = (step: string, which: string) => string;

function flows(name: Name): Record<string, Flow> {
  const print = (context: TaskContext, page: work.Page): Promise<string> =>
    context.step(name("print", page.text), () =>
      work.print(page, () => context.step(name("typeset", page.text), () => work.typeset(page))),
    );
  const branch = async (context: TaskContext, which: string): Promise<string> => {
    await context.step(name("predecessor", which), () => work.predecessor(which));
    return context.step(name("shared", which), () => work.shared(which));
  };
  const branches = async (_input: unknown, context: TaskContext): Promise<string[]> => {
    const results = await Promise.all([branch(context, "A"), branch(context, "B")]);
    return context.step("combine", () => work.combine(results));
  };
  return {
    async A1(_input, context) {
      return [await print(context, new work.Page("a")), await print(context, new work.Page("b"))];
    },
    B1: branches,
    B2: branches,
    async B4(pages: string[], context: TaskContext) {
      return Promise.all(
        pages.map(async (page) => {
          const text = await context.step(name("load", page), () => work.load(page));
          return context.step(name("render", page), () => work.render(text));
        }),
      );
    },
    async B6(images: string[], context: TaskContext) {
      const queue = [...images];
      const results = new Map<string, string>();
      const worker = async (): Promise<void> => {
        for (let image = queue.shift(); image !== undefined; image = queue.shift()) {
          const next = image;
          results.set(next, await context.step(name("shrink", next), () => work.shrink(next)));
        }
      };
      await Promise.all([worker(), worker()]);
      return images.map((image) => results.get(image)!);
    },
    async B7(_input, context) {
      const ask = (which: string) => context.step(name("ask", which), () => work.ask(which));
      const fastest = await Promise.race([ask("slow"), ask("fast")]);
      return context.step(name("order", fastest), () => work.orderFrom(fastest));
    },
    async C1(_input, context) {
      await context.step("prepare", work.prepare);
      return Promise.all([context.step("done", work.done), context.step("flaky", work.flaky)]);
    },
  };
}

function before(name: Name): Record<string, Flow> {
  return {
    async E2(_input, context) {
      return [
        await context.step("reserve", work.reserve),
        await context.step("charge", work.charge),
        await context.step("ship", work.ship),
      ];
    },
    async E3(_input, context) {
      const first = await context.step(name("notify", "a"), () => work.notify("a"));
      return context.step("finish", () => work.finish([first]));
    },
  };
}

function after(name: Name): Record<string, Flow> {
  return {
    async E2(_input, context) {
      return [
        await context.step("reserve", work.reserve),
        await context.step("audit", work.audit),
        await context.step("charge", work.charge),
        await context.step("ship", work.ship),
      ];
    },
    async E3(_input, context) {
      const second = await context.step(name("notify", "b"), () => work.notify("b"));
      const first = await context.step(name("notify", "a"), () => work.notify("a"));
      return context.step("finish", () => work.finish([second, first]));
    },
  };
}

const open =
  (name: Name) =>
  (place: Place, edited: boolean): Promise<Engine> =>
    openEngine(place, { ...flows(name), ...(edited ? after : before)(name) });

/** Equal names are numbered by their order. */
export const openPlain = open((step) => step);

/** "Each step has a unique name", as its docs have it. */
export const openNamed = open((step, which) => `${step}:${which}`);

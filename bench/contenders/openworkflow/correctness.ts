import * as work from "../../correctness/work.js";
import type { Engine, Place } from "../contender.js";
import { type Flow, openEngine, type Step } from "./engine.js";

/** A step's name, for a call that has to do with `which`. */
type Name = (step: string, which: string) => string;

function flows(name: Name): Record<string, Flow> {
  const print = (step: Step, page: work.Page): Promise<string> =>
    step.run({ name: name("print", page.text) }, () =>
      work.print(page, () => step.run({ name: name("typeset", page.text) }, () => work.typeset(page))),
    );
  const branch = async (step: Step, which: string): Promise<string> => {
    await step.run({ name: name("predecessor", which) }, () => work.predecessor(which));
    return step.run({ name: name("shared", which) }, () => work.shared(which));
  };
  const branches = async ({ step }: { step: Step }): Promise<string[]> => {
    const results = await Promise.all([branch(step, "A"), branch(step, "B")]);
    return step.run({ name: "combine" }, () => work.combine(results));
  };
  return {
    async A1({ step }) {
      return [await print(step, new work.Page("a")), await print(step, new work.Page("b"))];
    },
    B1: branches,
    B2: branches,
    async B4({ input: pages, step }: { input: string[]; step: Step }) {
      return Promise.all(
        pages.map(async (page) => {
          const text = await step.run({ name: name("load", page) }, () => work.load(page));
          return step.run({ name: name("render", page) }, () => work.render(text));
        }),
      );
    },
    async B6({ input: images, step }: { input: string[]; step: Step }) {
      const queue = [...images];
      const results = new Map<string, string>();
      const worker = async (): Promise<void> => {
        for (let image = queue.shift(); image !== undefined; image = queue.shift()) {
          const next = image;
          results.set(next, await step.run({ name: name("shrink", next) }, () => work.shrink(next)));
        }
      };
      await Promise.all([worker(), worker()]);
      return images.map((image) => results.get(image)!);
    },
    async B7({ step }) {
      const ask = (which: string) => step.run({ name: name("ask", which) }, () => work.ask(which));
      const fastest = await Promise.race([ask("slow"), ask("fast")]);
      return step.run({ name: name("order", fastest) }, () => work.orderFrom(fastest));
    },
    async C1({ step }) {
      await step.run({ name: "prepare" }, work.prepare);
      return Promise.all([step.run({ name: "done" }, work.done), step.run({ name: "flaky" }, work.flaky)]);
    },
  };
}

function before(name: Name): Record<string, Flow> {
  return {
    async E2({ step }) {
      return [
        await step.run({ name: "reserve" }, work.reserve),
        await step.run({ name: "charge" }, work.charge),
        await step.run({ name: "ship" }, work.ship),
      ];
    },
    async E3({ step }) {
      const first = await step.run({ name: name("notify", "a") }, () => work.notify("a"));
      return step.run({ name: "finish" }, () => work.finish([first]));
    },
  };
}

function after(name: Name): Record<string, Flow> {
  return {
    async E2({ step }) {
      return [
        await step.run({ name: "reserve" }, work.reserve),
        await step.run({ name: "audit" }, work.audit),
        await step.run({ name: "charge" }, work.charge),
        await step.run({ name: "ship" }, work.ship),
      ];
    },
    async E3({ step }) {
      const second = await step.run({ name: name("notify", "b") }, () => work.notify("b"));
      const first = await step.run({ name: name("notify", "a") }, () => work.notify("a"));
      return step.run({ name: "finish" }, () => work.finish([second, first]));
    },
  };
}

const open =
  (name: Name) =>
  (place: Place, edited: boolean): Promise<Engine> =>
    openEngine(place, { ...flows(name), ...(edited ? after : before)(name) });

/** As its docs have it: equal names are told apart by their order. */
export const openPlain = open((step) => step);

/** As its docs have it for collections that change: a name for each call. */
export const openNamed = open((step, which) => `${step}:${which}`);

import { type Context, RestatePromise, service, type WorkflowContext } from "@restatedev/restate-sdk";
import * as work from "../../correctness/work.js";
import type { Engine, Place } from "../contender.js";
import { type Flow, openEngine } from "./engine.js";

/** What is durable inside of something durable, and what has steps of its own beside others, is a handler that is called. */
const tasks = service({
  name: "tasks",
  handlers: {
    // Handlers are given JSON.
    print: (context: Context, { text }: { text: string }) => {
      const page = new work.Page(text);
      return work.print(page, () => context.run("typeset", () => work.typeset(page)));
    },
    branch: async (context: Context, which: string) => {
      await context.run("predecessor", () => work.predecessor(which));
      return context.run("shared", () => work.shared(which));
    },
    page: async (context: Context, page: string) => {
      const text = await context.run("load", () => work.load(page));
      return context.run("render", () => work.render(text));
    },
  },
});

async function branches(context: WorkflowContext): Promise<string[]> {
  const { branch } = context.serviceClient(tasks);
  const results = await RestatePromise.all([branch("A"), branch("B")]);
  return context.run("combine", () => work.combine(results));
}

const flows: Record<string, Flow> = {
  async A1(context) {
    const { print } = context.serviceClient(tasks);
    return [await print(new work.Page("a")), await print(new work.Page("b"))];
  },
  B1: branches,
  B2: branches,
  B4: (context, pages: string[]) => {
    const { page } = context.serviceClient(tasks);
    return RestatePromise.all(pages.map((each) => page(each)));
  },
  // One strand of a handler waits at a time: its own race tells which of the two workers is free.
  async B6(context, images: string[]) {
    const queue = [...images];
    const results = new Map<string, string>();
    const workers = new Map<number, RestatePromise<{ worker: number; image: string; small: string }>>();
    const next = (worker: number): void => {
      const image = queue.shift();
      if (image === undefined) workers.delete(worker);
      else
        workers.set(
          worker,
          context.run("shrink", () => work.shrink(image)).map((small) => ({ worker, image, small: small! })),
        );
    };
    next(0);
    next(1);
    while (workers.size > 0) {
      const { worker, image, small } = await RestatePromise.race([...workers.values()]);
      results.set(image, small);
      next(worker);
    }
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
  openEngine(place, { ...flows, ...(edited ? after : before) }, tasks);

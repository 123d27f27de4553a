import { RestatePromise } from "@restatedev/restate-sdk";
import * as work from "../../correctness/work.js";
import type { Engine, Place } from "../contender.js";
import { type Flow, openEngine } from "./engine.js";

const flows: Record<string, Flow> = {
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

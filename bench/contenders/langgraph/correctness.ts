import { type BaseCheckpointSaver, entrypoint, task } from "@langchain/langgraph";
import * as work from "../../correctness/work.js";
import type { Engine, Place } from "../contender.js";
import { openEngine } from "./engine.js";

const typeset = task("typeset", work.typeset);
const print = task("print", printPage);
const predecessor = task("predecessor", work.predecessor);
const shared = task("shared", work.shared);
const combine = task("combine", work.combine);
const load = task("load", work.load);
const render = task("render", work.render);
const shrink = task("shrink", work.shrink);
const ask = task("ask", work.ask);
const orderFrom = task("order", work.orderFrom);
const prepare = task("prepare", work.prepare);
const done = task("done", work.done);
const flaky = task("flaky", work.flaky);
const reserve = task("reserve", work.reserve);
const audit = task("audit", work.audit);
const charge = task("charge", work.charge);
const ship = task("ship", work.ship);
const notify = task("notify", work.notify);
const finish = task("finish", work.finish);

async function printPage(page: work.Page): Promise<string> {
  return work.print(page, async () => typeset(page));
}

async function branch(which: string): Promise<string> {
  await predecessor(which);
  return shared(which);
}

async function branches(): Promise<string[]> {
  return combine(await Promise.all([branch("A"), branch("B")]));
}

type Flow = (input: never) => Promise<unknown>;

const flows: Record<string, Flow> = {
  async A1() {
    return [await print(new work.Page("a")), await print(new work.Page("b"))];
  },
  B1: branches,
  B2: branches,
  B4: async (pages: string[]) => Promise.all(pages.map(async (page) => render(await load(page)))),
  async B6(images: string[]) {
    const queue = [...images];
    const results = new Map<string, string>();
    const worker = async (): Promise<void> => {
      for (let image = queue.shift(); image !== undefined; image = queue.shift()) {
        results.set(image, await shrink(image));
      }
    };
    await Promise.all([worker(), worker()]);
    return images.map((image) => results.get(image)!);
  },
  async B7() {
    const fastest = await Promise.race([ask("slow"), ask("fast")]);
    return orderFrom(fastest);
  },
  async C1() {
    await prepare();
    return Promise.all([done(), flaky()]);
  },
};

const before: Record<string, Flow> = {
  E2: async () => [await reserve(), await charge(), await ship()],
  async E3() {
    const first = await notify("a");
    return finish([first]);
  },
};

const after: Record<string, Flow> = {
  E2: async () => [await reserve(), await audit(), await charge(), await ship()],
  async E3() {
    const second = await notify("b");
    const first = await notify("a");
    return finish([second, first]);
  },
};

export const open = (place: Place, edited: boolean): Promise<Engine> =>
  openEngine(
    place,
    Object.fromEntries(
      Object.entries({ ...flows, ...(edited ? after : before) }).map(([name, flow]) => [
        name,
        // An input that is not null: with null it would go on with a run that is not there.
        (checkpointer: BaseCheckpointSaver) =>
          entrypoint({ name, checkpointer }, ({ input }: { input: unknown }) => flow(input as never)),
      ]),
    ),
    (input) => ({ input }),
  );

import { DBOS, type WorkflowHandle } from "@dbos-inc/dbos-sdk";
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

async function page(which: string): Promise<string> {
  const text = await step("load", () => work.load(which));
  return step("render", () => work.render(text));
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
    return Promise.all(pages.map(page));
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

/** What has steps of its own beside others, as a workflow that is started. */
const branchWorkflow = DBOS.registerWorkflow(branch, { name: "branch" });
const pageWorkflow = DBOS.registerWorkflow(page, { name: "page" });
const shrinkWorkflow = DBOS.registerWorkflow((image: string) => step("shrink", () => work.shrink(image)), {
  name: "shrink",
});
const workers = "workers";

async function startedBranches(): Promise<string[]> {
  const started = [await DBOS.startWorkflow(branchWorkflow)("A"), await DBOS.startWorkflow(branchWorkflow)("B")];
  const results = await outputs(started);
  return step("combine", () => work.combine(results));
}

const started: Record<string, Flow> = {
  B1: () => startedBranches(),
  B2: () => startedBranches(),
  async B4(pages: string[]) {
    const handles: WorkflowHandle<string>[] = [];
    for (const each of pages) handles.push(await DBOS.startWorkflow(pageWorkflow)(each));
    return outputs(handles);
  },
  async B6(images: string[]) {
    const handles: WorkflowHandle<string>[] = [];
    for (const image of images) {
      handles.push(await DBOS.startWorkflow(shrinkWorkflow, { queueName: workers })(image));
    }
    return outputs(handles);
  },
};

async function outputs<T>(handles: readonly WorkflowHandle<T>[]): Promise<T[]> {
  const all: T[] = [];
  for (const handle of handles) all.push(await handle.getResult());
  return all;
}

export const openPlain = (place: Place, edited: boolean): Promise<Engine> =>
  openEngine(place, { ...flows, ...(edited ? after : before) });

/** As its docs have it for sequences of steps beside each other. */
export async function openStarted(place: Place, edited: boolean): Promise<Engine> {
  const engine = await openEngine(place, { ...flows, ...started, ...(edited ? after : before) });
  await DBOS.registerQueue(workers, { concurrency: 2 });
  return engine;
}

/** Libraries that nobody transforms, around steps: queues, limiters, loaders, observables. */
import Bottleneck from "bottleneck";
import DataLoader from "dataloader";
import PQueue from "p-queue";
import {
  concatMap,
  defer,
  firstValueFrom,
  forkJoin,
  from,
  lastValueFrom,
  merge,
  mergeMap,
  Subject,
  toArray,
  zip,
} from "rxjs";
import { step, workflow } from "stepmark";
import { describe, expect, it } from "vitest";
import { bodies, replayed, turn, work } from "../support/scheduled-work.js";

/** One site, called from everywhere. */
const workOn = (item: unknown): Promise<string> => step(work, item);

const twice = (...items: string[]): string[] => items.map((item) => `w(w(${item}))`);

const items = ["a", "b", "c", "d"];

describe("queues and limiters", () => {
  it("p-queue with priorities, given closures", async () => {
    const flow = workflow("priorities", async (all: string[]) => {
      const queue = new PQueue({ concurrency: 2 });
      return Promise.all(
        all.map((item, i) => queue.add(async () => step(work, await step(work, item)), { priority: i % 2 })),
      );
    });
    await replayed(flow, twice(...items), items);
  });

  it("p-queue given closures that call a module-level function, and a listener with steps", async () => {
    const flow = workflow("queue", async (all: string[]) => {
      const queue = new PQueue({ concurrency: 1 });
      const heard: Array<Promise<string>> = [];
      queue.on("completed", (result: string) => {
        heard.push(step(work, result));
      });
      await queue.addAll(all.map((item) => () => workOn(item)));
      await queue.onIdle();
      return Promise.all(heard);
    });
    await replayed(flow, twice(...items), items);
  });

  it("bottleneck: a function wrapped once, called by branches that come in any order", async () => {
    const flow = workflow("wrapped", async (all: string[]) => {
      const wrapped = new Bottleneck({ maxConcurrent: 2 }).wrap(async (item: string) => step(work, item));
      return Promise.all(all.map(async (item) => wrapped(await step(work, item))));
    });
    await replayed(flow, twice(...items), items);
  });
});

describe("loaders and observables", () => {
  it("a data loader whose batches are steps, asked by branches", async () => {
    const batch = async (keys: string[]): Promise<string[]> => {
      bodies.note(keys.join());
      await turn();
      return keys.map((key) => `loaded ${key}`);
    };
    const flow = workflow("loader", async (all: string[]) => {
      const loader = new DataLoader(async (keys: readonly string[]) => step(batch, [...keys]));
      return Promise.all(all.map(async (item) => step(work, item).then(() => loader.load(item))));
    });
    await replayed(
      flow,
      items.map((item) => `loaded ${item}`),
      items,
    );
  });

  it("rxjs: at most two at a time, one after the other, together, the first of two", async () => {
    const flow = workflow("observables", async (all: string[]) => {
      const few = from(all).pipe(
        mergeMap(async (item) => step(work, await step(work, item)), 2),
        toArray(),
      );
      const subject = new Subject<string>();
      const chained = lastValueFrom(
        subject.pipe(
          concatMap((item) => from(step(work, item))),
          toArray(),
        ),
      );
      const zipped = firstValueFrom(
        zip(
          defer(() => step(work, "left")),
          defer(() => step(work, "right")),
        ),
      );
      const joined = lastValueFrom(forkJoin({ one: defer(() => workOn("one")), two: step(work, "two") }));
      const merged = lastValueFrom(merge(...all.map((item) => defer(async () => workOn(item)))).pipe(toArray()));
      await Promise.all(all.map(async (item) => subject.next(await step(work, item))));
      subject.complete();
      return [
        (await lastValueFrom(few)).sort(),
        (await chained).sort(),
        await zipped,
        await joined,
        (await merged).sort(),
      ];
    });
    await replayed(
      flow,
      [twice("a", "b"), twice("a", "b"), ["w(left)", "w(right)"], { one: "w(one)", two: "w(two)" }, ["w(a)", "w(b)"]],
      ["a", "b"],
    );
    expect(bodies.ran).toEqual([]);
  });
});

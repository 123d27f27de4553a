/** The kinds of processes that a storm may have: what drives the runs, and how runs come to it. */
import type { Pool } from "pg";
import { codec, Stepmark, type Store } from "stepmark";
import { graphileQueue } from "stepmark/graphile";
import { fingerprint } from "../../runtime/journal/fingerprint.js";
import { KEY_SCHEME } from "../../runtime/scope/key.js";
import { buildChild } from "../support/build-child.js";
import { flow, type Input } from "./flow.js";

export interface Kind {
  /** Builds the program; see `process/given.ts` for what it is given. */
  build(): Promise<string>;
  /** At most so many runs are open at once. */
  atOnce(fleet: { processes: number; concurrency: number }): number;
  /** Makes a run, unless it is there. */
  make(place: { store: Store; pool: Pool; schema: string }): (input: Input) => Promise<unknown>;
}

export const kinds = {
  /** `app.run()` takes what nobody has. */
  recovery: {
    build: () => buildChild("test/storm/process/recovery.ts"),
    // It takes all that it finds.
    atOnce: ({ processes, concurrency }) => processes * concurrency,
    make: ({ store }) => {
      const { encode } = codec();
      return (input) =>
        store.create({
          ...{ id: input.run, workflow: flow.workflowName, input: encode(input), inputPrint: fingerprint([input]) },
          ...{ scheme: KEY_SCHEME, createdAt: Date.now() },
        });
    },
  },
  /** `app.work()` gets them from a queue. */
  workers: {
    build: () => buildChild("test/storm/process/worker.ts"),
    atOnce: () => 1_000,
    make: ({ store, pool, schema }) => {
      const app = new Stepmark({ store, queue: graphileQueue(pool, { schema }), workflows: [flow] });
      return (input) => app.enqueue(flow, input, { id: input.run });
    },
  },
} satisfies Record<string, Kind>;

export type KindName = keyof typeof kinds;

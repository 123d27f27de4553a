/** One life of a process that starts or resumes a run, under a schedule of its own. */

import * as library from "stepmark";
import {
  type AnyWorkflow,
  type Codec,
  codec,
  type Entry,
  type MemoryStore,
  type Run,
  type RunEvent,
  Stepmark,
} from "stepmark";
import { Scheduler } from "./scheduler.js";
import { SimulatedStore, type StorePlan } from "./store.js";
import { type BodyNote, failedLabel, type Given, type Outside, textOf, World } from "./world.js";

export const runId = "run";

/** A compiled program; evaluating it anew is what a new process does. */
export type Code = (exports: Record<string, unknown>, require: (name: string) => unknown) => void;

export interface Life {
  code: Code;
  memory: MemoryStore;
  seed: number;
  /** Milliseconds since the epoch when it begins. */
  time: number;
  outside: Outside;
  /** Labels of the `crash` bodies that have failed before. */
  crashed: ReadonlySet<string>;
  plan: StorePlan;
  conditions: Conditions;
}

/** What a fault on purpose may change of the library's surroundings. */
export interface Conditions {
  /** Whether the store refuses the appends of a process that does not own the run any more. */
  fenced: boolean;
  codec: Codec;
}

export const sound: Conditions = { fenced: true, codec: codec() };

/** An entry, and what its outcome says. */
export interface Recorded extends Entry {
  /** As in `Given`. */
  text: string;
  /** The call that the body's result is for, as far as it says so. */
  label: string | undefined;
}

export interface Observed {
  /** How it ended: the run completed, failed, or the process died. */
  status: "completed" | "failed" | "died" | "stuck";
  result?: unknown;
  error?: Error & { code?: string };
  given: Given[];
  bodies: BodyNote[];
  /** The journal before and after. */
  before: Recorded[];
  after: Recorded[];
  events: RunEvent[];
  crashed: Set<string>;
  /** What has been seen to be wrong on the way. */
  wrong: string[];
  time: number;
  appends: number;
}

/** Far beyond what a program sleeps, so that these limits are met only when nothing else can happen. */
const limits = { grace: 1e9, stallAfter: 3e9, drain: 6e9 };

export async function live({ code, memory, seed, time, outside, crashed, plan, conditions }: Life): Promise<Observed> {
  const scheduler = new Scheduler(seed, time);
  const failed = new Set(crashed);
  const world = new World(outside, scheduler, failed);
  const exports: Record<string, unknown> = {};
  code(exports, (name) => (name === "stepmark" ? library : world.module));
  const workflow = exports.main as AnyWorkflow;

  const journal = async (): Promise<Recorded[]> =>
    (await memory.entries(runId)).map((entry) => read(entry, conditions.codec));
  const before = await journal();
  const wrong: string[] = [];
  const waits = new OpenWaits(before, conditions.codec);
  const lost = new Set<number>();
  for (const { number, target } of await memory.inbox(runId)) {
    if (waits.has(target)) waits.answered.add(target);
    else lost.add(number);
  }
  const store = new SimulatedStore(memory, scheduler, { ...plan, fenced: conditions.fenced }, lost, (entries) =>
    waits.note(entries),
  );
  const app = new Stepmark({
    store: store.facade,
    workflows: [workflow],
    clock: scheduler,
    codec: conditions.codec,
    ...limits,
  });

  let ended: Pick<Observed, "status" | "result" | "error"> | undefined;
  const events: RunEvent[] = [];
  const listen = async (run: Run): Promise<void> => {
    for await (const event of run.events()) {
      events.push(event);
      if ((event.seq ?? 0) > store.durable)
        wrong.push(`${event.type} ${event.seq} was announced before it was durable`);
    }
  };
  let listening: Promise<void> = Promise.resolve();
  const drive = async (): Promise<void> => {
    try {
      const run = (await memory.read(runId)) ? await app.resume(runId) : await app.start(workflow, "", { id: runId });
      listening = listen(run as Run);
      ended = { status: "completed", result: await run.result() };
    } catch (error) {
      ended = { status: "failed", error: error as Error };
    }
  };
  void drive();

  const answer = (key: string, label: unknown): void => {
    const value = { label, draw: ++outside.draws };
    waits.answered.add(key);
    app.answer(runId, key, value).catch((error: Error & { code?: string }) => {
      waits.answered.delete(key);
      // The run may not have been taken up yet, or end while the answer is on its way; or another process may have it.
      const late = error.code === "ANSWER" && (plan.contested || / takes no answers/.test(error.message));
      if (!late && !store.dead) wrong.push(`answer ${key}: ${error.message}`);
    });
  };
  const progress = (): number => world.given.length + events.length;
  const finished = await scheduler.run(
    () => ended !== undefined || store.dead,
    () =>
      waits.open().map(
        ([key, label]) =>
          () =>
            answer(key, label),
      ),
    progress,
  );
  // What is left of the process has its last turns.
  let over = false;
  if (store.dead) {
    const after = await journal();
    store.bury();
    void app.shutdown().then(() => {
      over = true;
    });
    await scheduler.run(
      () => over,
      () => [],
      progress,
    );
    return {
      status: "died",
      given: [...world.given],
      bodies: world.bodies,
      before,
      after,
      events,
      crashed: failed,
      wrong: [...wrong, ...store.wrong, ...world.wrong],
      time: scheduler.now(),
      appends: store.appends,
    };
  }
  void Promise.all([app.shutdown(), listening]).then(() => {
    over = true;
  });
  await scheduler.run(
    () => over,
    () => [],
    progress,
  );
  return {
    ...(finished ? ended! : { status: "stuck" as const }),
    given: world.given,
    bodies: world.bodies,
    before,
    after: await journal(),
    events,
    crashed: failed,
    wrong: [...wrong, ...store.wrong, ...world.wrong],
    time: scheduler.now(),
    appends: store.appends,
  };
}

function read(entry: Entry, { decode }: Codec): Recorded {
  const { state, value } = entry;
  if (state !== "done" && state !== "failed") return { ...entry, text: "", label: undefined };
  const decoded = decode(value!) as { label?: string } | undefined;
  const text = textOf(decoded, state === "failed");
  return { ...entry, text, label: state === "failed" ? failedLabel(text) : decoded?.label };
}

/** The waits that can be answered, with the label of the call that opened each. */
class OpenWaits {
  readonly answered = new Set<string>();
  private readonly labels = new Map<string, unknown>();

  constructor(
    entries: readonly Entry[],
    private readonly codec: Codec,
  ) {
    this.note(entries);
  }

  has(key: string): boolean {
    return this.labels.has(key);
  }

  note(entries: readonly Entry[]): void {
    for (const { kind, state, key, value } of entries) {
      if (kind !== "wait") continue;
      if (state === "open") this.labels.set(key, this.codec.decode(value!));
      else this.labels.delete(key);
    }
  }

  open(): Array<[key: string, label: unknown]> {
    return [...this.labels].filter(([key]) => !this.answered.has(key));
  }
}

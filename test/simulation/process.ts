/** One life of a process that starts or resumes a run, under a schedule of its own. */

import * as library from "stepmark";
import {
  type AnyWorkflow,
  type Codec,
  codec,
  type Entry,
  type MemoryStore,
  type Message,
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

export async function live(life: Life): Promise<Observed> {
  const { memory, conditions } = life;
  const before = await journal(memory, conditions.codec);
  const living = new Process(life, before, await memory.inbox(runId));
  const finished = await living.run();
  const given = [...living.world.given];
  const died = living.store.dead;
  // What is left of a dead process must not write any more, that of a living one may.
  const left = died ? await journal(memory, conditions.codec) : undefined;
  await living.end();
  return {
    ...(died ? { status: "died" } : finished ? living.ended! : { status: "stuck" }),
    given,
    bodies: living.world.bodies,
    before,
    after: left ?? (await journal(memory, conditions.codec)),
    events: living.events,
    crashed: living.crashed,
    wrong: [...living.wrong, ...living.store.wrong, ...living.world.wrong],
    time: living.scheduler.now(),
    appends: living.store.appends,
  };
}

class Process {
  readonly scheduler: Scheduler;
  readonly world: World;
  readonly store: SimulatedStore;
  readonly events: RunEvent[] = [];
  readonly wrong: string[] = [];
  readonly crashed: Set<string>;
  ended: Pick<Observed, "status" | "result" | "error"> | undefined;
  private readonly app: Stepmark;
  private readonly workflow: AnyWorkflow;
  private readonly waits: OpenWaits;
  private listening: Promise<void> = Promise.resolve();

  constructor(
    private readonly life: Life,
    before: readonly Entry[],
    inbox: readonly Message[],
  ) {
    const { code, memory, conditions, outside, plan } = life;
    this.scheduler = new Scheduler(life.seed, life.time);
    this.crashed = new Set(life.crashed);
    this.world = new World(outside, this.scheduler, this.crashed);
    const exports: Record<string, unknown> = {};
    code(exports, (name) => (name === "stepmark" ? library : this.world.module));
    this.workflow = exports.main as AnyWorkflow;
    this.waits = new OpenWaits(before, conditions.codec);
    this.store = new SimulatedStore(memory, this.scheduler, {
      plan,
      fenced: conditions.fenced,
      lost: this.waits.takeUp(inbox),
      onEntries: (entries) => this.waits.note(entries),
      onAppend: (number) => {
        if (number === plan.leaveAt) void this.app.shutdown();
      },
    });
    const { codec } = conditions;
    const { facade: store } = this.store;
    this.app = new Stepmark({ store, workflows: [this.workflow], clock: this.scheduler, codec, ...limits });
  }

  /** @returns whether it came to an end of some kind */
  async run(): Promise<boolean> {
    void this.drive();
    return this.scheduler.run(
      () => this.ended !== undefined || this.store.dead,
      () =>
        this.waits.open().map(
          ([key, label]) =>
            () =>
              void this.answer(key, label),
        ),
      () => this.progress(),
    );
  }

  /** Gives what is left of the process its last turns. */
  async end(): Promise<void> {
    if (this.store.dead) this.store.bury();
    let over = false;
    void Promise.all([this.app.shutdown(), this.store.dead || this.listening]).then(() => {
      over = true;
    });
    await this.scheduler.run(
      () => over,
      () => [],
      () => this.progress(),
    );
  }

  private async drive(): Promise<void> {
    try {
      const exists = (await this.life.memory.read(runId)) !== undefined;
      const run = exists ? await this.app.resume(runId) : await this.app.start(this.workflow, "", { id: runId });
      this.listening = this.listen(run);
      this.ended = { status: "completed", result: await run.result() };
    } catch (error) {
      this.ended = { status: "failed", error: error as Error };
    }
  }

  private async listen(run: Run): Promise<void> {
    for await (const event of run.events()) {
      this.events.push(event);
      if ((event.seq ?? 0) <= this.store.durable) continue;
      this.wrong.push(`${event.type} ${event.seq} was announced before it was durable`);
    }
  }

  private async answer(key: string, label: unknown): Promise<void> {
    const { outside, plan } = this.life;
    this.waits.answered.add(key);
    try {
      await this.app.answer(runId, key, { label, draw: ++outside.draws });
    } catch (thrown) {
      const error = thrown as Error & { code?: string };
      this.waits.answered.delete(key);
      // The run may not have been taken up yet, or end while the answer is on its way; or another process may have it.
      const late = error.code === "ANSWER" && (plan.contested || / takes no answers/.test(error.message));
      if (!late && !this.store.dead) this.wrong.push(`answer ${key}: ${error.message}`);
    }
  }

  private progress(): number {
    return this.world.given.length + this.events.length;
  }
}

async function journal(memory: MemoryStore, codec: Codec): Promise<Recorded[]> {
  return (await memory.entries(runId)).map((entry) => read(entry, codec));
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

  /** @returns the numbers of the messages to waits that the journal, since it was cut, does not hold */
  takeUp(inbox: readonly Message[]): Set<number> {
    for (const { target } of inbox) if (this.labels.has(target)) this.answered.add(target);
    return new Set(inbox.filter(({ target }) => !this.labels.has(target)).map(({ number }) => number));
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

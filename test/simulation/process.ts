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
import { type LostMessages, SimulatedStore, type StorePlan } from "./store.js";
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
  /** Whether the process drives a second run of the program as well. */
  companion?: boolean;
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
  /** How it ended: the run completed, failed, or the process died; or the process was at its end before the run was. */
  status: "completed" | "failed" | "died" | "stuck" | "left";
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
  /** The second run, if there was one: as it was when the first had ended. */
  companion?: Observed | undefined;
  time: number;
  appends: number;
}

/** Far beyond what a program sleeps, so that these limits are met only when nothing else can happen. */
const limits = { grace: 1e9, stallAfter: 3e9, drain: 6e9 };

export async function live(life: Life): Promise<Observed> {
  const tracks = await Promise.all(
    (life.companion ? [main, companion] : [main]).map((of) => Track.of(of, life.memory, life.conditions.codec)),
  );
  const living = new Process(life, tracks);
  const finished = await living.run();
  const seen = tracks.map((track) => living.givenTo(track));
  const died = living.store.dead;
  const endings = tracks.map(({ ended }) => ended);
  // What is left of a dead process must not write any more, that of a living one may.
  const left = died ? await Promise.all(tracks.map((track) => track.journal())) : undefined;
  await living.end();
  const observed = await Promise.all(
    tracks.map(async (track, index): Promise<Observed> => {
      return {
        ...(died ? { status: "died" } : (endings[index] ?? { status: finished ? "left" : "stuck" })),
        given: seen[index]!,
        bodies: living.world.bodies.filter(({ runId: id }) => id === track.id),
        before: track.before,
        after: left?.[index] ?? (await track.journal()),
        events: track.events,
        crashed: living.crashed,
        wrong: track === tracks[0] ? [...living.wrong, ...living.store.wrong, ...living.world.wrong] : [],
        time: living.scheduler.now(),
        appends: living.store.appends,
      };
    }),
  );
  return { ...observed[0]!, companion: observed[1] };
}

interface Which {
  id: string;
  /** The run's input: what all its labels begin with. */
  input: string;
}

const main: Which = { id: runId, input: "" };
const companion: Which = { id: "companion", input: "@" };

/** One run, as a process sees it. */
class Track {
  readonly events: RunEvent[] = [];
  readonly waits: OpenWaits;
  readonly lost: LostMessages;
  ended: Pick<Observed, "status" | "result" | "error"> | undefined;
  listening: Promise<void> = Promise.resolve();

  private constructor(
    readonly id: string,
    readonly input: string,
    readonly before: Recorded[],
    inbox: readonly Message[],
    private readonly memory: MemoryStore,
    private readonly codec: Codec,
  ) {
    this.waits = new OpenWaits(before, codec);
    this.lost = this.waits.takeUp(inbox);
  }

  static async of({ id, input }: Which, memory: MemoryStore, codec: Codec): Promise<Track> {
    const exists = (await memory.read(id)) !== undefined;
    const before = exists ? await journal(memory, id, codec) : [];
    return new Track(id, input, before, exists ? await memory.inbox(id) : [], memory, codec);
  }

  async journal(): Promise<Recorded[]> {
    return (await this.memory.read(this.id)) === undefined ? [] : journal(this.memory, this.id, this.codec);
  }
}

class Process {
  readonly scheduler: Scheduler;
  readonly world: World;
  readonly store: SimulatedStore;
  readonly wrong: string[] = [];
  readonly crashed: Set<string>;
  private readonly app: Stepmark;
  private readonly workflow: AnyWorkflow;

  constructor(
    private readonly life: Life,
    private readonly tracks: readonly Track[],
  ) {
    const { code, memory, conditions, outside, plan } = life;
    this.scheduler = new Scheduler(life.seed, life.time);
    this.crashed = new Set(life.crashed);
    this.world = new World(outside, this.scheduler, this.crashed);
    const exports: Record<string, unknown> = {};
    code(exports, (name) => (name === "stepmark" ? library : this.world.module));
    this.workflow = exports.main as AnyWorkflow;
    const track = (id: string): Track => tracks.find((each) => each.id === id)!;
    this.store = new SimulatedStore(memory, this.scheduler, {
      plan,
      fenced: conditions.fenced,
      lost: (id) => track(id).lost,
      onEntries: (id, entries) => track(id).waits.note(entries),
      onAppend: (number) => {
        if (number === plan.leaveAt) void this.app.shutdown().catch(() => {});
        if (number === plan.cancelAt) void this.app.cancel(runId).catch(() => {});
      },
    });
    const { codec } = conditions;
    const { facade: store } = this.store;
    this.app = new Stepmark({ store, workflows: [this.workflow], clock: this.scheduler, codec, ...limits });
  }

  /** @returns whether it came to an end of some kind */
  async run(): Promise<boolean> {
    for (const track of this.tracks) void this.drive(track);
    return this.scheduler.run(
      () => this.tracks[0]!.ended !== undefined || this.store.dead,
      () =>
        this.tracks.flatMap((track) =>
          track.waits.open().map(
            ([key, label]) =>
              () =>
                void this.answer(track, key, label),
          ),
        ),
      () => this.progress(),
    );
  }

  /** Gives what is left of the process its last turns. */
  async end(): Promise<void> {
    this.store.calm = true;
    if (this.store.dead) this.store.bury();
    let over = false;
    const listening = this.tracks.map((track) => track.listening);
    void Promise.all([this.app.shutdown().catch(() => {}), this.store.dead || Promise.all(listening)]).then(() => {
      over = true;
    });
    await this.scheduler.run(
      () => over,
      () => [],
      () => this.progress(),
    );
  }

  givenTo({ input }: Track): Given[] {
    return this.world.given.filter(({ label }) => label.startsWith(companion.input) === (input === companion.input));
  }

  private async drive(track: Track): Promise<void> {
    const { id, input } = track;
    try {
      const exists = (await this.life.memory.read(id)) !== undefined;
      const run = exists ? await this.app.resume(id) : await this.app.start(this.workflow, input, { id });
      track.listening = this.listen(run, track);
      track.ended = { status: "completed", result: await run.result() };
    } catch (error) {
      track.ended = { status: "failed", error: error as Error };
    }
  }

  private async listen(run: Run, { id, events }: Track): Promise<void> {
    for await (const event of run.events()) {
      events.push(event);
      if ((event.seq ?? 0) <= (this.store.durable.get(id) ?? 0)) continue;
      this.wrong.push(`${event.type} ${event.seq} was announced before it was durable`);
    }
  }

  private async answer({ id, waits }: Track, key: string, label: unknown): Promise<void> {
    const { outside, plan } = this.life;
    waits.answered.add(key);
    try {
      await this.app.answer(id, key, { label, draw: ++outside.draws });
    } catch (thrown) {
      const error = thrown as Error & { code?: string };
      waits.answered.delete(key);
      // The run may not have been taken up yet, or end while the answer is on its way; or another process may have it.
      const late = error.code === "ANSWER" && (plan.contested || / takes no answers/.test(error.message));
      if (!late && !this.store.dead) this.wrong.push(`answer ${key}: ${error.message}`);
    }
  }

  private progress(): number {
    return this.world.given.length + this.tracks.reduce((sum, { events }) => sum + events.length, 0);
  }
}

async function journal(memory: MemoryStore, id: string, codec: Codec): Promise<Recorded[]> {
  return (await memory.entries(id)).map((entry) => read(entry, codec));
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

  takeUp(inbox: readonly Message[]): LostMessages {
    for (const { target } of inbox) if (this.labels.has(target)) this.answered.add(target);
    const lost = inbox.filter(({ target }) => !this.labels.has(target));
    return {
      numbers: new Set(lost.map(({ number }) => number)),
      targets: new Set(lost.map(({ target }) => target)),
    };
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

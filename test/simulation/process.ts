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
import { streamName } from "./print.js";
import { Scheduler } from "./scheduler.js";
import { type LostMessages, SimulatedStore, type StorePlan } from "./store.js";
import {
  type BodyNote,
  companionInput,
  failedLabel,
  type Given,
  inputOf,
  type Outside,
  type StreamMessage,
  textOf,
  World,
} from "./world.js";

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
  /** After how many milliseconds a run that waits leaves memory. */
  idle: number;
  plan: StorePlan;
  conditions: Conditions;
}

/** What a fault on purpose may change of the library's surroundings. */
export interface Conditions {
  /** Whether the store refuses the appends of a process that does not own the run any more. */
  fenced: boolean;
  /** Whether messages are used up together with what is recorded of them. */
  consumes: boolean;
  codec: Codec;
}

export const sound: Conditions = { fenced: true, consumes: true, codec: codec() };

/** An entry, and what its outcome says. */
export interface Recorded extends Entry {
  /** As in `Given`. */
  text: string;
  /** The call that the body's result is for, as far as it says so. */
  label: string | undefined;
}

export interface Observed {
  id: string;
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
  /** The runs that these have begun, in this life or before. */
  children: Observed[];
  time: number;
  appends: number;
  /** Whether an append has failed. */
  storeFailed: boolean;
}

/** Far beyond what a program sleeps, so that these limits are met only when nothing else can happen. */
const limits = { grace: 1e9, stallAfter: 3e9, drain: 6e9 };

export async function live(life: Life): Promise<Observed> {
  const { memory, conditions } = life;
  const tracks = await Promise.all(
    (life.companion ? [main, companion] : [main]).map((of) => Track.of(of, memory, conditions.codec)),
  );
  const living = new Process(life, tracks, await childrenIn(memory, conditions.codec));
  const finished = await living.run();
  const seen = living.tracks.map((track) => living.givenTo(track));
  const died = living.store.dead;
  const endings = tracks.map(({ ended }) => ended);
  // What is left of a dead process must not write any more, that of a living one may.
  const left = died ? await Promise.all(living.tracks.map((track) => track.journal())) : undefined;
  await living.end();
  // Child runs are seen from outside.
  const standing = async (
    track: Track,
    index: number,
  ): Promise<(Partial<Observed> & Pick<Observed, "status">) | undefined> =>
    index < tracks.length ? undefined : track.standing();
  const observe = async (track: Track, index: number): Promise<Observed> => ({
    id: track.id,
    ...(died ? { status: "died" } : (endings[index] ?? (await standing(track, index)) ?? { status: "left" })),
    given: seen[index] ?? living.givenTo(track),
    bodies: living.world.bodies.filter(({ runId: id }) => id === track.id),
    before: track.before,
    after: left?.[index] ?? (await track.journal()),
    events: track.events,
    crashed: living.crashed,
    wrong: track === tracks[0] ? [...living.wrong, ...living.store.wrong, ...living.world.wrong] : [],
    time: living.scheduler.now(),
    appends: living.store.appends,
    storeFailed: living.store.appends >= (life.plan.failAt ?? Number.POSITIVE_INFINITY),
    children: [],
  });
  const observed = await Promise.all(living.tracks.map(observe));
  const first = observed[0]!;
  if (!finished && !died && endings[0] === undefined) first.status = "stuck";
  const isOther = tracks.length > 1;
  return { ...first, companion: isOther ? observed[1] : undefined, children: observed.slice(tracks.length) };
}

interface Which {
  id: string;
  /** The run's input: what all its labels begin with. */
  input: string;
}

const main: Which = { id: runId, input: "" };
const companion: Which = { id: "companion", input: companionInput };

/** The runs that other runs have begun. */
async function childrenIn(memory: MemoryStore, codec: Codec): Promise<Track[]> {
  const runs = (await memory.list({})).filter(({ parent }) => parent !== undefined);
  return Promise.all(
    runs.map(({ id, input }) => Track.of({ id, input: codec.decode(input) as string }, memory, codec)),
  );
}

/** One run, as a process sees it. */
class Track {
  readonly events: RunEvent[] = [];
  ended: Pick<Observed, "status" | "result" | "error"> | undefined;
  listening: Promise<void> = Promise.resolve();

  constructor(
    readonly id: string,
    readonly input: string,
    readonly before: Recorded[],
    readonly outer: OuterWorld,
    private readonly memory: MemoryStore,
    private readonly codec: Codec,
  ) {}

  static async of({ id, input }: Which, memory: MemoryStore, codec: Codec): Promise<Track> {
    const exists = (await memory.read(id)) !== undefined;
    const before = exists ? await journal(memory, id, codec) : [];
    const inbox = exists ? await memory.inbox(id) : [];
    const ended = new Set((await memory.list({ status: ["completed", "failed", "cancelled"] })).map((run) => run.id));
    return new Track(id, input, before, new OuterWorld(before, inbox, ended, codec), memory, codec);
  }

  async journal(): Promise<Recorded[]> {
    return (await this.memory.read(this.id)) === undefined ? [] : journal(this.memory, this.id, this.codec);
  }

  /** How a run that nobody has waited for has ended, if it has. */
  async standing(): Promise<Pick<Observed, "status" | "result" | "error"> | undefined> {
    const run = await this.memory.read(this.id);
    switch (run?.status) {
      case "completed":
        return { status: "completed", result: this.codec.decode(run.output!) };
      case "failed":
        return { status: "failed", error: this.codec.decode(run.error!) as Error };
      case "cancelled":
        return { status: "failed", error: Object.assign(new Error("cancelled"), { code: "RUN_CANCELLED" }) };
      default:
        return undefined;
    }
  }
}

class Process {
  readonly scheduler: Scheduler;
  readonly world: World;
  readonly store: SimulatedStore;
  readonly wrong: string[] = [];
  readonly crashed: Set<string>;
  /** Those that it drives, then their child runs. */
  readonly tracks: Track[];
  private readonly app: Stepmark;
  private readonly workflow: AnyWorkflow;

  constructor(
    private readonly life: Life,
    private readonly driven: readonly Track[],
    children: readonly Track[],
  ) {
    const { code, memory, conditions, outside, plan } = life;
    const { codec } = conditions;
    this.tracks = [...driven, ...children];
    this.scheduler = new Scheduler(life.seed, life.time);
    this.crashed = new Set(life.crashed);
    this.world = new World(outside, this.scheduler, this.crashed);
    const exports: Record<string, unknown> = {};
    code(exports, (name) => (name === "stepmark" ? library : this.world.module));
    this.workflow = exports.main as AnyWorkflow;
    const track = (id: string): Track | undefined => this.tracks.find((each) => each.id === id);
    this.store = new SimulatedStore(memory, this.scheduler, {
      plan,
      conditions,
      lost: (id) => track(id)?.outer.lost ?? nothingLost,
      onCreate: ({ id, input, parent }) => {
        if (parent === undefined || track(id) !== undefined) return;
        const outer = new OuterWorld([], [], new Set(), codec);
        this.tracks.push(new Track(id, codec.decode(input) as string, [], outer, memory, codec));
      },
      onEntries: (id, entries) => track(id)?.outer.note(entries),
      onPost: ({ number, value }) => {
        const message = value === "" ? undefined : (codec.decode(value) as Partial<StreamMessage> | undefined);
        if (message?.draw !== undefined) outside.posted.set(message.draw, number);
      },
      onAppend: (number) => {
        if (number === plan.leaveAt) void this.app.shutdown().catch(() => {});
        if (number === plan.cancelAt) void this.app.cancel(runId).catch(() => {});
      },
    });
    const { facade: store } = this.store;
    const { idle } = life;
    this.app = new Stepmark({ store, workflows: [this.workflow], clock: this.scheduler, codec, ...limits, idle });
  }

  /** @returns whether it came to an end of some kind */
  async run(): Promise<boolean> {
    for (const track of this.driven) void this.drive(track);
    return this.scheduler.run(
      () => this.driven[0]!.ended !== undefined || this.store.dead,
      () => this.tracks.flatMap((track) => this.offers(track)),
      () => this.progress(),
    );
  }

  /** Gives what is left of the process its last turns. */
  async end(): Promise<void> {
    this.store.calm = true;
    if (this.store.dead) this.store.bury();
    let over = false;
    const listening = this.driven.map((track) => track.listening);
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
    return this.world.given.filter(({ label }) => inputOf(label) === input);
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

  /** What somebody outside may do for a run now. */
  private offers({ id, outer }: Track): Array<() => void> {
    const answers = outer.questions().map(
      ([key, label]) =>
        () =>
          void this.answer(id, outer, key, label),
    );
    const messages = outer.streams().map(
      ([name, stream]) =>
        () =>
          void this.send(id, name, stream),
    );
    return [...answers, ...messages];
  }

  private async answer(id: string, outer: OuterWorld, key: string, label: unknown): Promise<void> {
    outer.answered.add(key);
    const given = await this.give(`answer ${key}`, () =>
      this.app.answer(id, key, { label, draw: ++this.life.outside.draws }),
    );
    if (!given) outer.answered.delete(key);
  }

  private async send(id: string, name: string, stream: Stream): Promise<void> {
    stream.sending = true;
    const draw = ++this.life.outside.draws;
    const sent = await this.give(`message to ${name}`, () => this.app.send(id, name, { label: stream.label, draw }));
    if (sent) stream.sent++;
    stream.sending = false;
  }

  private async give(what: string, give: () => Promise<void>): Promise<boolean> {
    try {
      await give();
      return true;
    } catch (thrown) {
      const error = thrown as Error & { code?: string };
      // The run may not have been taken up yet, or end while the answer is on its way; or another process may have it.
      const late = error.code === "ANSWER" && (this.life.plan.contested || / takes no answers/.test(error.message));
      if (!late && !this.store.dead) this.wrong.push(`${what}: ${error.message}`);
      return false;
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
  const { kind, state, value } = entry;
  if (state !== "done" && state !== "failed") return { ...entry, text: "", label: undefined };
  // Code is given nothing by `publish`.
  if (kind === "publish") return { ...entry, text: textOf(undefined, false), label: decode(value!) as string };
  const decoded = decode(value!) as { label?: string } | undefined;
  const text = textOf(decoded, state === "failed");
  return { ...entry, text, label: state === "failed" ? failedLabel(text) : decoded?.label };
}

const nothingLost: LostMessages = { numbers: new Set(), targets: new Set() };

/** A stream that a run has asked for. */
interface Stream {
  label: string;
  /** How many messages it wants, and how many it has been sent. */
  times: number;
  sent: number;
  sending: boolean;
}

/** What people outside know of a run: its open questions, with the label of the call that asks, and its streams. */
class OuterWorld {
  readonly answered = new Set<string>();
  readonly lost: LostMessages;
  private readonly asking = new Map<string, unknown>();
  private readonly wanted = new Map<string, Stream>();
  /** Calls of child runs that have no outcome: the child's id by key. */
  private readonly children = new Map<string, string>();

  /** @param ended ids of the runs that have come to their end */
  constructor(
    entries: readonly Entry[],
    inbox: readonly Message[],
    ended: ReadonlySet<string>,
    private readonly codec: Codec,
  ) {
    this.note(entries);
    for (const { kind, state, name } of entries) {
      const stream = kind === "wait" && state === "done" ? this.wanted.get(name!) : undefined;
      if (stream !== undefined) stream.sent++;
    }
    for (const { target } of inbox) {
      if (this.asking.has(target)) this.answered.add(target);
      const stream = this.wanted.get(target);
      if (stream !== undefined) stream.sent++;
    }
    // What was sent for a call that the journal, since it was cut, does not hold, or by a child that has not ended then.
    const isLost = ({ target }: Message): boolean => {
      if (target.startsWith(streamName)) return false;
      const child = this.children.get(target);
      return child === undefined ? !this.asking.has(target) : !ended.has(child);
    };
    const lost = inbox.filter(isLost);
    this.lost = {
      numbers: new Set(lost.map(({ number }) => number)),
      targets: new Set(lost.map(({ target }) => target)),
    };
  }

  note(entries: readonly Entry[]): void {
    for (const { kind, state, key, value, name, child } of entries) {
      if (kind === "child") {
        if (state === "done" || state === "failed") this.children.delete(key);
        else this.children.set(key, child!);
      }
      if (kind !== "wait") continue;
      if (state !== "open") this.asking.delete(key);
      else if (name!.startsWith(streamName)) {
        const { stream: label, times } = this.codec.decode(value!) as { stream: string; times: number };
        if (!this.wanted.has(name!)) this.wanted.set(name!, { label, times, sent: 0, sending: false });
      } else this.asking.set(key, this.codec.decode(value!));
    }
  }

  questions(): Array<[key: string, label: unknown]> {
    return [...this.asking].filter(([key]) => !this.answered.has(key));
  }

  streams(): Array<[name: string, stream: Stream]> {
    return [...this.wanted].filter(([, { times, sent, sending }]) => sent < times && !sending);
  }
}

/** One program through everything that can happen to its run. */
import { type Codec, type MemoryStore, memoryStore } from "stepmark";
import { transformText } from "../../transformer/transform-text.js";
import { compile } from "../support/build.js";
import { seeded } from "../support/schedule.js";
import { familyFaults, faultsBetween, faultsOf, faultsOfFullReplay, streamFaults } from "./oracle.js";
import { type Edit, editKinds, print, statementsOf } from "./print.js";
import { type Code, type Conditions, type Life, live, type Observed, runId, sound } from "./process.js";
import { type Program, traitsOf } from "./program.js";
import type { StorePlan } from "./store.js";
import type { Outside } from "./world.js";

export interface Verdict {
  /** How many times a process started or resumed the run. */
  lives: number;
  /** Codes of documented refusals, with how often each came. */
  refusals: Record<string, number>;
  /** What went wrong, or nothing. */
  wrong: string[];
}

/** The refusal that a program may earn: only timing could tell the calls apart that unseen code made. */
const ambiguous = "AMBIGUOUS_SCOPE";
/** What a step may come to whose process has died often enough. */
const usedUp = "ATTEMPTS_USED_UP";

/** What may be said of a record when the code was edited. */
const refusalsOfEdits = new Set<string | undefined>([ambiguous, "AMBIGUOUS_SITE", "REPLAY_MISMATCH", "RETIRED_SITE"]);

/** In so many of the programs a second run is under way in the same process. */
const companions = 0.25;

/** How a process may learn that another one has its run. */
const ousting = new Set<string | undefined>(["STALE_OWNER", "RUN_OWNED"]);

/** Journals longer than this are cut at so many places only, which the seed chooses. */
export const mostCuts = 12;

/** In so many of the programs a run that waits soon leaves memory. */
const forgetful = 0.5;
const soon = 20;

/** A run is resumed so often before it counts as one that never completes. */
const mostResumes = 40;

const started = Date.UTC(2025, 0, 1);

export async function simulate(program: Program, seed: number, conditions = sound, cuts = mostCuts): Promise<Verdict> {
  const simulation = new Simulation(program, seed, conditions, cuts);
  try {
    await simulation.play();
  } catch (error) {
    if (!(error instanceof Wrong)) throw error;
  }
  return simulation.verdict;
}

/** What a life starts from. */
type From = Pick<Life, "memory" | "time" | "crashed">;

/** Thrown to end a simulation whose verdict is made. */
class Wrong extends Error {}

class Simulation {
  readonly verdict: Verdict = { lives: 0, refusals: {}, wrong: [] };
  private readonly outside: Outside = { draws: 0, posted: new Map() };
  private readonly random: () => number;
  private readonly code: Code;
  private readonly traits;
  private readonly companion: boolean;
  private readonly idle: number;

  constructor(
    private readonly program: Program,
    seed: number,
    private readonly conditions: Conditions,
    private readonly mostCuts: number,
  ) {
    this.random = seeded(seed);
    this.traits = traitsOf(program);
    this.code = codeOf(program);
    this.companion = this.random() < companions;
    this.idle = this.random() < forgetful ? soon : 1e9;
  }

  async play(): Promise<void> {
    const first = await this.complete({ memory: memoryStore(), time: started, crashed: new Set() });
    if (first === undefined) return;
    const { observed, memory } = first;
    for (const kept of this.cuts(observed.after.length)) {
      const where = `resumed after ${kept} of ${observed.after.length} entries`;
      const fork = await this.cut(memory, kept);
      const crashed = await crashedIn(fork, this.conditions.codec);
      const later = await this.complete({ memory: fork, time: observed.time, crashed }, where);
      if (later === undefined) continue;
      this.judge(faultsBetween(observed, later.observed, this.traits), where);
      const whole = await this.life({
        memory: later.memory.fork(runId, Number.POSITIVE_INFINITY),
        time: later.observed.time,
        crashed: later.observed.crashed,
        plan: {},
      });
      this.judge(
        [...faultsOf(whole, this.traits), ...faultsOfFullReplay(later.observed, whole)],
        `${where}, then again`,
      );
    }
    for (const plan of this.accidents(observed.appends)) await this.accident(plan, observed);
    await this.takeover(this.within(observed.appends), observed);
    await this.cancellation(this.within(observed.appends));
    await this.edited(memory, observed);
  }

  /** A run that is cancelled is at its end, and stays as it is. */
  private async cancellation(after: number): Promise<void> {
    const where = `cancelled after ${after} appends`;
    const memory = memoryStore();
    const hurt = await this.life({ memory, time: started, crashed: new Set(), plan: { cancelAt: after } });
    this.judge(faultsOf(hurt, this.traits), where);
    if ((await memory.read(runId))?.status !== "cancelled") return;
    const { time, crashed } = hurt;
    const again = await this.life({ memory: memory.fork(), time, crashed, companion: false, plan: {} });
    const faults = [
      ...[hurt, again]
        .filter(({ error }) => error?.code !== "RUN_CANCELLED")
        .map(({ status, error }) => `a cancelled run ended as ${status}: ${error?.stack}`),
      ...[again, ...again.children]
        .flatMap(({ bodies }) => bodies)
        .map(({ key }) => `${key} ran after the run was cancelled`),
      ...(again.after.length > hurt.after.length ? ["entries were written after the run was cancelled"] : []),
    ];
    this.judge(faults, where);
  }

  /** A process with an edited program goes on with the run: each record finds its own call, or is refused. */
  private async edited(memory: MemoryStore, first: Observed): Promise<void> {
    const kind = editKinds[Math.floor(this.random() * editKinds.length)]!;
    const edit: Edit = { kind, at: Math.floor(this.random() * statementsOf(this.program)) };
    const kept = Math.floor(this.random() * (first.after.length + 1));
    const where = `resumed after ${kept} of ${first.after.length} entries with statement ${edit.at} edited: ${kind}`;
    const [code, traits] = [
      codeOf(this.program, edit),
      { ...this.traits, crashes: true, ordered: true, edited: true, swapped: kind === "swap" },
    ];
    const fork = await this.cut(memory, kept);
    let { time, crashed } = { time: first.time, crashed: await crashedIn(fork, this.conditions.codec) };
    for (let round = 0; round < mostResumes; round++) {
      const later = await this.life({ memory: fork, time, crashed, code, companion: false, plan: {} });
      this.judge([...faultsOf(later, traits), ...faultsBetween(first, later, traits)], where);
      if (later.status === "completed") return;
      const refused = later.error?.code;
      if (refusalsOfEdits.has(refused) && refused !== undefined) {
        this.refuse(`${refused} (${kind})`);
        // What was refused has changed nothing: the old code goes on with it, if no child run has got further by the new code.
        if ([later, ...later.children].every(({ before, after }) => after.length === before.length))
          await this.complete({ memory: fork, time, crashed }, `${where}, refused, then the old code`);
        return;
      }
      if ((refused !== undefined && refused !== usedUp) || !this.mayFail(later, traits))
        this.judge([`ended as ${later.status}: ${later.error?.stack}`], where);
      ({ time, crashed } = later);
    }
    this.judge([`did not complete in ${mostResumes} resumes`], where);
  }

  /** A first life that ends by accident, and a resume from what it has left. */
  private async accident(plan: StorePlan, first: Observed): Promise<void> {
    const where = `after an accident: ${JSON.stringify(plan)}`;
    const memory = memoryStore();
    const hurt = await this.life({ memory, time: started, crashed: new Set(), plan });
    this.judge(faultsOf(hurt, this.traits), where);
    if (hurt.after.length === 0 && (await memory.read(runId)) === undefined) return;
    const fork = await this.cut(memory, hurt.after.length);
    const later = await this.complete(
      { memory: fork, time: hurt.time, crashed: await crashedIn(fork, this.conditions.codec) },
      where,
    );
    if (later === undefined) return;
    this.judge(
      [...faultsBetween(hurt, later.observed, this.traits), ...faultsBetween(first, later.observed, this.traits)],
      where,
    );
  }

  /** A process takes the run from one that still lives, which has appended so often. */
  private async takeover(after: number, first: Observed): Promise<void> {
    const where = `taken over after ${after} appends`;
    const memory = memoryStore();
    let call!: () => void;
    const noticed = new Promise<void>((resolve) => {
      call = resolve;
    });
    const ousted = this.life({
      memory,
      time: started,
      crashed: new Set(),
      plan: { contested: true, notice: { after, call } },
    });
    const early = await Promise.race([noticed, ousted.then(() => true)]);
    const taken = early
      ? undefined
      : await this.complete({ memory, time: started, crashed: new Set() }, where, { contested: true, usurp: true });
    const observed = await ousted;
    this.judge(observed.wrong, where);
    if (taken === undefined) return;
    this.judge(faultsBetween(first, taken.observed, this.traits), where);
    const texts = new Set(taken.observed.after.map(({ text }) => text));
    const lost = observed.given.filter(({ text }) => !texts.has(text));
    this.judge(
      lost.map(({ text }) => `the first process was given what is not recorded: ${text}`),
      where,
    );
    if (observed.error !== undefined && !ousting.has(observed.error.code) && !this.mayFail(observed))
      this.judge([`the first process ended with ${observed.error.stack}`], where);
  }

  /** Resumes a run until it completes. */
  private async complete(
    from: From,
    where = "uninterrupted",
    plan: StorePlan = {},
  ): Promise<{ observed: Observed; memory: MemoryStore } | undefined> {
    let { time, crashed } = from;
    for (let round = 0; round < mostResumes; round++) {
      const observed = await this.life({ ...from, time, crashed, plan });
      this.judge(faultsOf(observed, this.traits), where);
      if (observed.status === "completed") return { observed, memory: from.memory };
      const code = observed.error?.code;
      if (code === ambiguous && this.traits.scatters) {
        this.refuse(code);
        return undefined;
      }
      if ((code !== undefined && code !== usedUp) || !this.mayFail(observed))
        this.judge([`ended as ${observed.status}: ${observed.error?.stack}`], where);
      ({ time, crashed } = observed);
    }
    this.judge([`did not complete in ${mostResumes} resumes`], where);
    return undefined;
  }

  private mayFail({ error }: Observed, { crashes } = this.traits): boolean {
    // A failing run tries nothing again: what it cuts short may fail the next one.
    const failures = crashes ? /^(crash|flaky|All \d+ attempts)/ : /^All \d+ attempts/;
    for (let at: unknown = error; at instanceof Error; at = at.cause) {
      if (failures.test(at.message)) return true;
    }
    return false;
  }

  private async life(from: From & Pick<Life, "plan"> & Partial<Life>): Promise<Observed> {
    this.verdict.lives++;
    const { code, outside, conditions, companion, idle } = this;
    const observed = await live({
      code,
      outside,
      conditions,
      idle,
      companion: companion && !from.plan.contested,
      seed: Math.floor(this.random() * 2 ** 32),
      ...from,
    });
    if (observed.companion !== undefined) this.judge(this.faultsOfOther(observed.companion), "the other run");
    // An edit may have them refused, and a cancellation takes them all along.
    const isCancelled = (await from.memory.read(runId))?.status === "cancelled";
    if (from.code === undefined && !isCancelled)
      for (const child of observed.children) {
        // The run may have come to its end at that very moment, without a child that it has begun and does not wait for.
        const isTakenAlong = from.plan.cancelAt !== undefined && child.error?.code === "RUN_CANCELLED";
        if (!isTakenAlong) this.judge(this.faultsOfOther(child), `the child run ${child.id}`);
      }
    this.judge(
      [...(await familyFaults(from.memory)), ...(await streamFaults(from.memory, outside, conditions.codec))],
      "in the store",
    );
    return observed;
  }

  /** The store as it may be when the run's journal ends after so many entries: with what child runs have done till then. */
  private async cut(memory: MemoryStore, kept: number): Promise<MemoryStore> {
    let store = memory.fork(runId, kept);
    const runs = await store.list({});
    // An id holds that of the run which began it.
    for (const { id, parent } of runs.sort((a, b) => a.id.length - b.id.length)) {
      if (parent === undefined) continue;
      const calls = (await store.entries(parent.id)).filter(({ key }) => key === parent.key);
      if (calls.length === 0) await store.delete(id);
      else if (calls.every(({ state }) => state === "open") && this.random() < 0.5)
        store = store.fork(id, Math.floor(this.random() * ((await store.entries(id)).length + 1)));
    }
    return store;
  }

  /** The other run ends in its own way, or is left when the first has ended. */
  private faultsOfOther(other: Observed): string[] {
    const { status, error } = other;
    const code = error?.code;
    if (status !== "failed" || code === "STORE" || code === "SHUTDOWN" || this.mayFail(other)) return [];
    if (code === ambiguous && this.traits.scatters) return [];
    return [`ended as ${status}: ${error?.stack}`];
  }

  private refuse(kind: string): void {
    this.verdict.refusals[kind] = (this.verdict.refusals[kind] ?? 0) + 1;
  }

  /** A number of an append. */
  private within(appends: number): number {
    return 1 + Math.floor(this.random() * appends);
  }

  private judge(faults: string[], where: string): void {
    if (faults.length === 0) return;
    this.verdict.wrong.push(...faults.map((fault) => `${where}: ${fault}`));
    throw new Wrong();
  }

  private cuts(length: number): number[] {
    const all = Array.from({ length: length + 1 }, (_, kept) => kept);
    while (all.length > this.mostCuts) all.splice(Math.floor(this.random() * all.length), 1);
    return all;
  }

  private accidents(appends: number): StorePlan[] {
    const at = (): number => this.within(appends);
    return [{ dieAt: at(), dieAfter: this.random() < 0.5 }, { failAt: at() }, { leaveAt: at() }];
  }
}

/** Of so many programs, one goes through the compiler and its applier; the others through the text applier alone. */
const compiled = 8;

function codeOf(program: Program, edit?: Edit): Code {
  const source = print(program, edit);
  const throughCompiler = source.length % compiled === 0;
  return new Function("exports", "require", throughCompiler ? compile(source, "flow.ts") : asFunction(source)) as Code;
}

/** A printed program is JavaScript but for its imports and its export, which are on lines of their own. */
function asFunction(source: string): string {
  const { code } = transformText(source, { file: "flow.ts", root: "/" })!;
  return code
    .replace(/^import (\{.*\}) from (".*");$/gm, "const $1 = require($2);")
    .replace(/^export const main =/m, "const main = exports.main =");
}

/** The `crash` bodies whose failure is recorded. */
async function crashedIn(memory: MemoryStore, { decode }: Codec): Promise<Set<string>> {
  const crashed = new Set<string>();
  for (const { id } of await memory.list({})) {
    for (const { state, value } of await memory.entries(id)) {
      const label = state === "failed" ? /^crash (.*)$/s.exec((decode(value!) as Error).message)?.[1] : undefined;
      if (label !== undefined) crashed.add(label);
    }
  }
  return crashed;
}

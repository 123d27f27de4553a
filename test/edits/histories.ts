/**
 * Runs that several builds have recorded: begun under one, gone on with under an edited one, and resumed under that, under the first again (the edit
 * was rolled back) or under a third. Every call that any of them recorded has its mark, those that an edit has added too.
 */
import { accept } from "../lock/project.js";
import { seeded } from "../support/schedule.js";
import { isRefusal } from "./classify.js";
import { type CorpusOptions, hash } from "./corpus.js";
import { edited } from "./edits/editing.js";
import { edits } from "./edits/index.js";
import { allMarks, markNew } from "./marks.js";
import { build, type Program } from "./program.js";
import type { Flow, Project } from "./project.js";
import { type Recording, record, resume } from "./run.js";
import { truthOf } from "./truth.js";
import type { Ask } from "./world.js";

/** What the last build is: that of the middle; the first, with its lock file, that of the middle or one that was accepted anew; or another edit. */
export const lasts = [
  "same",
  "rolled back",
  "rolled back without it",
  "rolled back, accepted",
  "edited again",
] as const;
export type Last = (typeof lasts)[number];

export interface HistoryOutcome {
  readonly flow: string;
  readonly edits: string;
  readonly locked: boolean;
  readonly last: Last;
  /** Entries that the first build, and both, have recorded. */
  readonly kept: readonly [number, number];
  /** Of the recorded calls: how many were answered by their records. */
  readonly answered: number;
  readonly recorded: number;
  readonly error: string | undefined;
  readonly faults: readonly string[];
}

export async function* histories(
  flows: readonly Flow[],
  { seed, count, only }: Pick<CorpusOptions, "seed" | "only"> & { count: number },
): AsyncGenerator<HistoryOutcome> {
  for (const flow of flows) {
    if (only !== undefined && !flow.name.includes(only)) continue;
    const next = seeded(seed + hash(`histories of ${flow.name}`));
    for (let made = 0, tries = 0; made < count && tries < count * 10; tries++) {
      const pick = <T>(from: readonly T[]): T | undefined => from[Math.floor(next() * from.length)];
      const [one, two] = [pick(edits)!, pick(edits)!];
      const first = pick(one.places(flow));
      if (first === undefined) continue;
      const middle = markNew(await edited(flow, one, first), "b");
      const second = pick(two.places(middle));
      if (second === undefined) continue;
      const third = markNew(await edited(middle, two, second), "c");
      made++;
      for (const locked of [false, true])
        yield* historiesOf({ flow, middle, third, edits: `${one.name}, ${two.name}`, locked, next });
    }
  }
}

interface History {
  readonly flow: Flow;
  readonly middle: Project;
  readonly third: Project;
  readonly edits: string;
  readonly locked: boolean;
  next(): number;
}

/** A build, and a whole pass of it that says what the code asks for. */
interface Stage {
  readonly program: Program;
  readonly fresh: Recording;
}

async function* historiesOf({ flow, middle, third, edits, locked, next }: History): AsyncGenerator<HistoryOutcome> {
  const lock = (before: Parameters<typeof accept>[0], { files }: Project) =>
    accept(before, Object.fromEntries(files)).lines;
  const lock1 = lock([], flow);
  const lock2 = lock(lock1, middle);
  const stage = async (project: Project, lines: typeof lock1): Promise<Stage> => ({
    program: build(project, "text", locked ? lines : undefined),
    fresh: await record(build(project, "nodes")),
  });
  const cut = (entries: number, least: number): number => least + Math.floor(next() * (entries - least + 1));
  const begun = await stage(flow, lock1);
  const run1 = await record(begun.program);
  const kept1 = cut(run1.entries.length, 1);
  const between = await stage(middle, lock2);
  const run2 = await resume(between.program, run1.store, kept1);
  if (isRefusal(run2.error)) return;
  const kept2 = cut(run2.entries.length, kept1);
  const recorded: Recorded[] = [
    { asks: asksOf(run1, 1, kept1), pass: run1, by: begun },
    { asks: asksOf(run2, kept1 + 1, kept2), pass: run2, by: between },
  ];
  const stages: Record<Last, [project: Project, lines: typeof lock1]> = {
    same: [middle, lock2],
    "rolled back": [flow, lock1],
    "rolled back without it": [flow, lock2],
    "rolled back, accepted": [flow, lock(lock2, flow)],
    "edited again": [third, lock(lock2, third)],
  };
  for (const last of lasts) {
    if (!locked && /it$|accepted$/.test(last)) continue;
    const end = await stage(...stages[last]);
    const run3 = await resume(end.program, run2.store, kept2);
    const { answered, faults } = judgeAll(recorded, run3, end);
    const error = isRefusal(run3.error) || run3.error === end.fresh.error ? [] : [`unexpected: ${run3.error}`];
    yield {
      ...{
        flow: flow.name,
        edits,
        locked,
        last,
        kept: [kept1, kept2],
        answered,
        recorded: recorded.flatMap(({ asks }) => asks).length,
      },
      error: run3.error,
      faults: [...faults, ...error],
    };
  }
}

/** Calls that a pass has recorded. */
interface Recorded {
  readonly asks: readonly Ask[];
  readonly pass: Recording;
  readonly by: Stage;
}

/** The calls whose outcomes have these numbers. */
function asksOf({ asks, entries }: Recording, from: number, to: number): Ask[] {
  const keys = new Set(
    entries.filter(({ seq, state }) => from <= seq && seq <= to && /done|failed/.test(state)).map(({ key }) => key),
  );
  return asks.filter(({ key, kind }) => keys.has(key) && kind !== "sleep");
}

function judgeAll(recorded: readonly Recorded[], run: Recording, end: Stage): { answered: number; faults: string[] } {
  const faults: string[] = [];
  let answered = 0;
  for (const { asks, pass, by } of recorded) {
    const [marks, marksNow] = [by, end].map(({ program }) => allMarks(program.project.files)) as [
      Set<string>,
      Set<string>,
    ];
    for (const mark of marks) if (!marksNow.has(mark)) marks.delete(mark);
    const truth = truthOf(marks, [by.fresh.asks, end.fresh.asks, pass.asks, run.asks]);
    const names = truth(pass.asks);
    const namesNow = truth(run.asks);
    for (const ask of run.asks) {
      const name = namesNow.get(ask);
      const owner = asks.find(({ given }) => given !== undefined && given === ask.given);
      if (owner !== undefined && names.get(owner) === name) answered++;
      else if (owner !== undefined) faults.push(`taken: ${ask.key} has what ${owner.key} has come to`);
      const done = ask.executions > 0 ? asks.find((each) => name !== undefined && names.get(each) === name) : undefined;
      if (done !== undefined) faults.push(`redone: ${done.key} as ${ask.key}`);
    }
  }
  return { answered, faults };
}

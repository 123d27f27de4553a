/** One edit of one flow: what it does to a run in flight, whatever there is for a lock file. */
import type { LockLine } from "../../transformer/lock/lock-line.js";
import { accept } from "../lock/project.js";
import { seeded } from "../support/schedule.js";
import { type Judged, judge } from "./classify.js";
import { type Case, hash, sample } from "./corpus.js";
import { allMarks } from "./marks.js";
import { build, type Program } from "./program.js";
import type { Project } from "./project.js";
import { type Recording, record, resume } from "./run.js";
import { compare, type Paper, type Scheme, schemes } from "./schemes.js";
import { truthOf } from "./truth.js";

/**
 * What a build reads: no lock file; that of the code before the edit, or before the second of two; the one that was accepted for
 * the code after it.
 */
export const modes = ["none", "old", "accepted"] as const;
export type Mode = (typeof modes)[number];

export interface Resumption extends Judged {
  readonly mode: Mode;
  readonly kept: number;
}

export interface Outcome {
  readonly resumptions: readonly Resumption[];
  readonly papers: Readonly<Record<Scheme, Paper>>;
}

/** A build and what it recorded, without and with a lock file. */
export interface Before {
  readonly project: Project;
  readonly plain: { readonly program: Program; readonly run: Recording };
  readonly locked: { readonly program: Program; readonly run: Recording };
  readonly lines: readonly LockLine[];
}

/**
 * Tries cases one after the other.
 *
 * @param most how many prefixes of a journal a run is resumed from, the whole one always
 * @returns with each case what came of it, or the error of an edit whose code does not run
 */
export async function* casesOf(
  cases: AsyncIterable<Case>,
  most: number | "all",
): AsyncGenerator<[each: Case, outcome: Outcome | Error]> {
  const known = new Map<Project, Promise<Before>>();
  for await (const each of cases) {
    const { flow, edit, where } = each;
    if (!known.has(each.before)) known.set(each.before, before(each.before));
    const next = seeded(hash(flow + edit + where));
    try {
      const then = await known.get(each.before)!;
      yield [each, await tryEdit(then, each, (entries) => cutsOf(entries, most, next))];
    } catch (error) {
      yield [each, error as Error];
    }
  }
}

function cutsOf(entries: number, most: number | "all", next: () => number): number[] {
  const all = Array.from({ length: entries }, (_, index) => index + 1);
  return most === "all" ? all : [entries, ...sample(all.slice(0, -1), most - 1, next)];
}

export async function before(project: Project): Promise<Before> {
  const { lines } = accept([], Object.fromEntries(project.files));
  const plain = build(project, "nodes");
  const locked = build(project, "nodes", lines);
  return {
    project,
    lines,
    plain: { program: plain, run: await record(plain) },
    locked: { program: locked, run: await record(locked) },
  };
}

/**
 * @param cuts how many entries are left, of so many
 * @param change what is done to the lock file that is accepted, to put a fault in
 */
export async function tryEdit(
  then: Before,
  { after: edited, between }: Pick<Case, "after" | "between">,
  cuts: (entries: number) => readonly number[],
  change: (lines: readonly LockLine[]) => readonly LockLine[] = (lines) => lines,
): Promise<Outcome> {
  const common = allMarks(then.project.files);
  const marksNow = allMarks(edited.files);
  for (const mark of common) if (!marksNow.has(mark)) common.delete(mark);
  const accepted = change(accept(then.lines, Object.fromEntries(edited.files)).lines);
  const old = between === undefined ? then.lines : accept(then.lines, Object.fromEntries(between.files)).lines;
  const fresh = build(edited, "text");
  const freshRun = await record(fresh);
  const resumptions: Resumption[] = [];
  for (const mode of modes) {
    const { run } = mode === "none" ? then.plain : then.locked;
    const program = mode === "none" ? fresh : build(edited, "text", mode === "old" ? old : accepted);
    for (const kept of cuts(run.entries.length)) {
      const after = await resume(program, run.store, kept);
      const truth = truthOf(common, [run.asks, freshRun.asks, after.asks]);
      resumptions.push({ mode, kept, ...judge(run, kept, after, freshRun, truth) });
    }
  }
  const { program, run } = then.plain;
  const truth = truthOf(common, [run.asks, freshRun.asks]);
  const papers = Object.fromEntries(
    (Object.keys(schemes) as Scheme[]).map((scheme) => [
      scheme,
      compare(scheme, { program, asks: run.asks }, { program: fresh, asks: freshRun.asks }, truth),
    ]),
  ) as Record<Scheme, Paper>;
  return { resumptions, papers };
}

/** Many programs, one for each seed; those that go wrong are shrunk. */
import fc from "fast-check";
import { show } from "./print.js";
import type { Conditions } from "./process.js";
import { type Program, programs } from "./program.js";
import { reduce } from "./reduce.js";
import { simulate, type Verdict } from "./simulate.js";

export interface Exploration {
  runs: number;
  seed: number;
  /** Stop after so many programs have gone wrong. */
  mostWrong: number;
  report?: (text: string) => void;
  /** Look for a smaller program that goes wrong as well (default: yes). */
  shrink?: boolean;
  conditions?: Conditions;
  /** At most so many prefixes of each journal are resumed from. */
  cuts?: number;
  /** Only programs whose text holds all of these. */
  holding?: readonly string[];
}

export interface Outcome {
  programs: number;
  lives: number;
  refusals: Record<string, number>;
  wrong: Finding[];
  milliseconds: number;
}

/** A program that goes wrong. */
export interface Finding {
  seed: number;
  program: Program;
  faults: string[];
}

export async function explore({
  runs,
  seed,
  mostWrong,
  report,
  shrink = true,
  conditions,
  cuts,
  holding = [],
}: Exploration): Promise<Outcome> {
  const outcome: Outcome = { programs: 0, lives: 0, refusals: {}, wrong: [], milliseconds: 0 };
  const begun = performance.now();
  for (let at = seed; outcome.programs < runs && outcome.wrong.length < mostWrong; at++) {
    if (!holds(at, holding)) continue;
    const finding = await exploreOne(at, shrink, conditions, cuts, (verdict) => count(outcome, verdict));
    outcome.programs++;
    outcome.milliseconds = performance.now() - begun;
    if (finding !== undefined) {
      outcome.wrong.push(finding);
      report?.(tell(finding));
    } else if (outcome.programs % 1000 === 0) report?.(`${outcome.programs} programs so far`);
  }
  return outcome;
}

/** So long a smaller program is looked for, in milliseconds: by fast-check, and then by `reduce`. */
const shrinkFor = { parts: 10_000, wholes: 60_000 };

/** A smaller program has other schedules: it is given so many of them to go wrong in. */
const schedules = 4;

/** Tries the program of one seed. */
async function exploreOne(
  seed: number,
  shrink: boolean,
  conditions: Conditions | undefined,
  cuts: number | undefined,
  see: (verdict: Verdict) => void,
): Promise<Finding | undefined> {
  let faults: string[] | undefined;
  let first = true;
  const goesRight = async (program: Program): Promise<boolean> => {
    const tries = first ? 1 : schedules;
    for (let at = seed; at < seed + tries; at++) {
      const verdict = await simulate(program, at, conditions, cuts);
      if (first) see(verdict);
      first = false;
      if (verdict.wrong.length === 0) continue;
      faults = verdict.wrong;
      return false;
    }
    return true;
  };
  const limits = shrink ? { interruptAfterTimeLimit: shrinkFor.parts } : { endOnFailure: true };
  const { counterexample, errorInstance } = await fc.check(fc.asyncProperty(programs, goesRight), {
    seed,
    numRuns: 1,
    ...limits,
  });
  // Whatever the simulator itself throws is no verdict.
  if (faults === undefined && errorInstance) throw errorInstance;
  if (faults === undefined) return undefined;
  const [found] = counterexample!;
  const goesWrong = async (candidate: Program): Promise<boolean> => !(await goesRight(candidate));
  const program = shrink ? await reduce(found, goesWrong, shrinkFor.wholes) : found;
  return { seed, program, faults };
}

function holds(seed: number, texts: readonly string[]): boolean {
  if (texts.length === 0) return true;
  const [program] = fc.sample(programs, { seed, numRuns: 1 });
  const text = show(program!);
  return texts.every((each) => text.includes(each));
}

export function tell({ seed, program, faults }: Finding): string {
  return [`--- seed ${seed}`, show(program), ...faults.slice(0, 6)].join("\n");
}

export function summary({ programs: count, lives, refusals, wrong, milliseconds }: Outcome, seed: number): string {
  const refused =
    Object.entries(refusals)
      .map(([code, times]) => `${times} ${code}`)
      .join(", ") || "none";
  return (
    `${count} programs from seed ${seed}, ${lives} starts and resumes in ${(milliseconds / 1000).toFixed(1)} s; ` +
    `refusals: ${refused}; wrong outcomes: ${wrong.length}`
  );
}

function count(outcome: Outcome, { lives, refusals }: Verdict): void {
  outcome.lives += lives;
  for (const [code, times] of Object.entries(refusals)) outcome.refusals[code] = (outcome.refusals[code] ?? 0) + times;
}

/** Holds what the runs returned against the ledger of what was executed. */
import { atOnce, type Made, next } from "./flow.js";
import type { Line } from "./ledger.js";

export interface Death {
  process: number;
  /** When it was killed, of the clock that the ledger goes by. */
  at: bigint;
}

export interface Damage {
  /** Runs that did not complete, or are still in the queue. */
  unfinished: string[];
  /** Values that are not those of their own call. */
  wrong: string[];
  /** Executions of steps whose outcome had been recorded. */
  repeated: string[];
  /** Runs that a process went on with while another one that lived had them. */
  ownedTwice: string[];
  executions: number;
  /** Executions that a kill cut off before they were recorded: they have run again. */
  cut: number;
}

/**
 * @param results by run: what it returned, or how it stands
 * @param ledger by run: executions in the order in which they began
 * @param queued how many runs the queue still holds
 */
export function damageOf(
  results: ReadonlyMap<string, unknown>,
  steps: number,
  ledger: ReadonlyMap<string, readonly Line[]>,
  deaths: readonly Death[],
  queued: number,
): Damage {
  const died = new Map(deaths.map(({ process, at }) => [process, at]));
  const damage: Damage = { unfinished: [], wrong: [], repeated: [], ownedTwice: [], executions: 0, cut: 0 };
  if (queued > 0) damage.unfinished.push(`${queued} runs are still in the queue`);
  for (const [run, result] of results) {
    if (!Array.isArray(result)) {
      damage.unfinished.push(`${run}: ${result}`);
      continue;
    }
    const lines = ledger.get(run) ?? [];
    damage.executions += lines.length;
    damage.wrong.push(...wrongIn(run, result as Made[], steps));
    damage.repeated.push(...repeatedIn(run, result as Made[], lines));
    damage.ownedTwice.push(...ownedTwiceIn(run, lines, died));
    damage.cut += lines.length - steps;
  }
  return damage;
}

function wrongIn(run: string, made: readonly Made[], steps: number): string[] {
  const before = Math.floor((steps - atOnce(steps)) / 2);
  const faults: string[] = [];
  if (made.length !== steps) faults.push(`${run}: ${made.length} values instead of ${steps}`);
  let last = 0;
  for (const [index, each] of made.entries()) {
    const isParallel = index >= before && index < before + atOnce(steps);
    const from = isParallel ? (made[before - 1]?.value ?? 0) : last;
    if (each.run !== run || each.step !== index || each.value !== next(from, index))
      faults.push(`${run}: step ${index} has ${JSON.stringify(each)}`);
    last = each.value;
  }
  return faults;
}

/** The execution that was recorded must be the last of its step. */
function repeatedIn(run: string, made: readonly Made[], lines: readonly Line[]): string[] {
  const last = new Map(lines.map(({ step, nonce }) => [step, nonce]));
  return made.filter(({ step, nonce }) => last.get(step) !== nonce).map(({ step }) => `${run}: step ${step}`);
}

/** From one execution to the next, the process may only be another one if the first was killed in between. */
function ownedTwiceIn(run: string, lines: readonly Line[], died: ReadonlyMap<number, bigint>): string[] {
  return lines.flatMap((line, index) => {
    const before = lines[index - 1];
    if (before === undefined || before.process === line.process) return [];
    const death = died.get(before.process);
    return death !== undefined && death <= line.at
      ? []
      : [`${run}: process ${line.process} while ${before.process} lived`];
  });
}

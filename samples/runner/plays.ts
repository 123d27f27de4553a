/** What can happen to a scenario's processes, for the scenarios that have it in common. */
import { isDeepStrictEqual } from "node:util";
import { inProcesses } from "./processes.js";
import type { Outcome } from "./scenario.js";

/** A play: the first process is killed when these bodies have been recorded, a new one resumes. */
export function killedAfter(...ends: string[]): (id: string) => Promise<Outcome> {
  return (id) =>
    inProcesses(id, async (processes) => {
      await processes.start({ ends });
      return processes.outcome(await processes.resume());
    });
}

/** A play: everything happens in one process, as the scenario's script says. */
export function inOneProcess(id: string): Promise<Outcome> {
  return inProcesses(id, async (processes) => (await processes.script()) as Outcome);
}

/**
 * A play: for each number of entries, a first process that is killed right after so many and a new one that resumes.
 * Bodies end in one of the given orders before the crash, and as they like after it.
 *
 * @returns as bodies, how many were recorded before each crash and how many ran after it
 */
export function killedAfterEveryEntry(...orders: string[][]): (id: string) => Promise<Outcome> {
  return async (id) => {
    const results: unknown[] = [];
    const before: string[] = [];
    const after: string[] = [];
    for (let kept = 0; kept <= orders[0]!.length; kept++) {
      const order = orders[kept % orders.length]!;
      const recorded = order.slice(0, kept);
      await inProcesses(id, async (processes) => {
        await processes.start({ ends: recorded, atOnce: true });
        before.push(String((await processes.recordedKeys()).length));
        const result = await processes.resume();
        if (!results.some((known) => isDeepStrictEqual(known, result))) results.push(result);
        after.push(tally(order, recorded, processes.bodies));
      });
    }
    return { result: results.length === 1 ? results[0] : { different: results }, bodies: [before, after] };
  };
}

/** How many bodies ran after a crash, and which of them should not have run, or should have and did not. */
function tally(all: readonly string[], recorded: readonly string[], [before = [], after = []]: string[][]): string {
  const wrong = {
    again: after.filter((label) => recorded.includes(label)),
    twice: [before, after].flatMap((labels) => labels.filter((label, index) => labels.indexOf(label) !== index)),
    missing: all.filter((label) => !(recorded.includes(label) ? before : after).includes(label)),
  };
  const faults = Object.entries(wrong).filter(([, labels]) => labels.length > 0);
  return [after.length, ...faults.map(([fault, labels]) => `${fault}: ${labels.join(" ")}`)].join("; ");
}

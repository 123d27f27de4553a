/** A body whose calls end in an order that a seed says, and workflows with it from every prefix of their journals. */
import type { AnyWorkflow } from "stepmark";
import { Bodies, replayFromEveryPrefix } from "./replay.js";
import { Schedule } from "./schedule.js";

/** What has run in the test file at hand. */
export const bodies = new Bodies();
let schedule = new Schedule(1);

/** From now on, calls end in the order of this seed. */
export function reseed(seed: number): void {
  schedule = new Schedule(seed);
}

/** Until it is the caller's turn to end. */
export const turn = (): Promise<void> => schedule.turn();

export async function work(item: unknown): Promise<string> {
  bodies.note(String(item));
  await turn();
  return `w(${item})`;
}

/** @param seeds how many orders are tried */
export async function replayed(workflow: AnyWorkflow, expected: unknown, input?: unknown, seeds = 6): Promise<void> {
  for (let seed = 1; seed <= seeds; seed++) {
    await replayFromEveryPrefix({
      workflow,
      input,
      expected,
      bodies,
      options: { grace: 200, stallAfter: 1000 },
      prepare: () => reseed(seed),
    });
  }
}

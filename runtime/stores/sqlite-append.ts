/** What one append writes into a SQLite file, beside others in one transaction. */
import { systemClock } from "../clock.js";
import { StaleOwnerError, type StepmarkError, StoreError } from "../errors.js";
import { sealedAnswer, sealedError, sealedOutput } from "./rows.js";
import type { Open } from "./sqlite-database.js";
import type { Message, RunChange } from "./store.js";

export interface Append {
  id: string;
  fence: number;
  entries: ReadonlyArray<{ seq: number; text: string }>;
  change: RunChange | undefined;
  at: number | undefined;
}

/** Whether it is written with one statement. */
export function isSingle({ entries, change }: Append): boolean {
  return entries.length === 1 && change === undefined;
}

/** Writes one append. What is wrong with it alone is returned, before anything of it is written. */
export function append(statements: Open["statements"], given: Append): StepmarkError | undefined {
  const { id, fence, entries, change, at } = given;
  for (const { seq, text } of entries) {
    // Only the first can fail: the others follow it in number and in time.
    if (none(statements.append.run(seq, text, id, fence, seq - 1))) {
      if (!statements.holds.get(id, fence)) return new StaleOwnerError(id);
      return new StoreError(`Entry ${seq} does not follow the last one`, { runId: id });
    }
  }
  if (change === undefined) {
    return entries.length > 0 || statements.holds.get(id, fence) ? undefined : new StaleOwnerError(id);
  }
  const { status, output, error, culprits, orphans, edited, due, keeper, wake, consume, refuse, release } = change;
  const changed = statements.change.run(
    status ?? null,
    at ?? systemClock.now(),
    ...replaced(output && sealedOutput(id, output)),
    ...replaced(error && sealedError(id, error)),
    ...replaced(culprits && JSON.stringify(culprits)),
    ...replaced(orphans && JSON.stringify(orphans)),
    ...replaced(edited && JSON.stringify(edited)),
    ...replaced(due),
    ...replaced(keeper),
    id,
    fence,
  );
  if (none(changed)) return new StaleOwnerError(id);
  for (const number of consume ?? []) statements.consume.run(id, number);
  for (const number of refuse ?? []) statements.refuse.run(id, number);
  if (wake !== undefined) {
    const parent = statements.number.get(wake.run) as { number: number } | undefined;
    if (parent !== undefined) putMessage(statements, parent.number, wake.run, { ...wake, value: "" });
  }
  if (release) statements.release.run(id);
  return undefined;
}

/** @returns the message's number */
export function putMessage(
  statements: Open["statements"],
  run: number,
  id: string,
  message: Omit<Message, "number">,
): number {
  const { target, at } = message;
  return (statements.post.get(run, target, sealedAnswer(id, message), at, run) as { number: number }).number;
}

export function none({ changes }: { changes: number | bigint }): boolean {
  return Number(changes) === 0;
}

/** Whether to replace a column, and by what. */
function replaced<T extends string | number>(value: T | null | undefined): [replace: number, value: T | null] {
  return [value === undefined ? 0 : 1, value ?? null];
}

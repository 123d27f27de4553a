/** Results that are awaited: of those that a process ends without, it says so. */
import process from "node:process";

/** Ids of runs, once for each promise that is pending. */
const pending = new Map<Promise<unknown>, string>();

/** Remembers who waits, until the result is there. */
export function noteAwaited(id: string, result: Promise<unknown>): void {
  if (pending.size === 0) process.once("beforeExit", warnLater);
  pending.set(result, id);
  const forget = (): void => {
    pending.delete(result);
    if (pending.size === 0) process.removeListener("beforeExit", warnLater);
  };
  result.then(forget, forget);
}

/** Runs that are stalled by the end of the process reject their results before. */
function warnLater(): void {
  queueMicrotask(() => process.nextTick(warn));
}

/** Nothing is left to do in this process, so whatever these runs wait for has to come from elsewhere. */
function warn(): void {
  if (pending.size === 0) return;
  const ids = [...new Set(pending.values())];
  const [first, more] = [JSON.stringify(ids[0]), ids.length > 1 ? ` and ${ids.length - 1} more` : ""];
  process.emitWarning(
    `This process ends while \`result()\` of run ${first}${more} is awaited: a run that waits for an answer does not keep its process alive. ` +
      "Nothing is lost. `app.run()` keeps a process going that goes on with answered runs; `run.settled()` resolves as soon as a run waits.",
    { type: "StepmarkWarning", code: "RESULT_PENDING" },
  );
}

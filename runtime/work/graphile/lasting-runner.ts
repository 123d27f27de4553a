/**
 * A runner of graphile-worker that goes on. By itself one takes no more jobs, without an error, when graphile-worker's tables are
 * made or changed: it hears of that on a channel of the whole database, so another schema's tables are enough.
 */
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { isA } from "../../journal/careful.js";
import type { Runner } from "./driver.js";

/** By this exit code a runner tells of its process that it has stopped, which it has not. */
const stoppedCode = 57;

/**
 * @param start has to call `stopping` when the runner takes no more jobs; those under way are still its own
 * @param pause after a failure, in milliseconds
 * @throws what the first start throws
 */
export async function lastingRunner(
  start: (stopping: () => void) => Promise<Runner>,
  pause: number,
  onError: (error: unknown) => void,
): Promise<Pick<Runner, "stop">> {
  const over = new AbortController();
  const { signal } = over;
  /** Those that take jobs or have some under way. */
  const runners = new Map<Runner, Promise<void>>();
  /** When the next one has begun to take jobs, if one is to. */
  let beginning: Promise<void> = Promise.resolve();

  const begin = async (): Promise<void> => {
    let replaced = false;
    const replace = (): void => {
      if (process.exitCode === stoppedCode) process.exitCode = undefined;
      if (!replaced && !signal.aborted) beginning = beginAgain();
      replaced = true;
    };
    const runner = await start(replace);
    const ended = runner.promise.catch(failed).finally(() => {
      runners.delete(runner);
      replace();
    });
    runners.set(runner, ended);
  };
  const beginAgain = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        return await begin();
      } catch (error) {
        await failed(error);
      }
    }
  };
  const failed = async (error: unknown): Promise<void> => {
    if (signal.aborted) return;
    onError(error);
    await setTimeout(pause, undefined, { signal }).catch(() => {});
  };

  await begin();
  return {
    async stop() {
      over.abort();
      await beginning;
      const ending = [...runners.values()];
      await Promise.all([...runners.keys()].map(halt));
      await Promise.all(ending);
    },
  };
}

/** Lets a runner take no more jobs, unless it has stopped by itself; resolves when those under way have come to an end. */
async function halt(runner: Runner): Promise<void> {
  await runner.stop().catch((error: unknown) => {
    if (!isA(error, Error) || !error.message.includes("already stopped")) throw error;
  });
}

/** An app's part in the work: drives the runs that its queue hands out. */
import { setTimeout } from "node:timers/promises";
import { decoded } from "../app/decoded.js";
import type { Driver } from "../app/driver.js";
import { type Duration, delay } from "../calls/duration.js";
import type { AnyWorkflow } from "../calls/workflow.js";
import { systemClock } from "../clock.js";
import {
  RunNotFoundError,
  RunOwnedError,
  RunPoisonedError,
  ShutdownError,
  StaleOwnerError,
  StoreError,
} from "../errors.js";
import { isA } from "../journal/careful.js";
import type { Codec } from "../journal/codec.js";
import { isDead } from "../stores/owner.js";
import { checkCount } from "./count.js";
import { type Cron, inputAt, readCrons, runIdAt } from "./crons.js";
import { readLimits, type WorkflowLimits } from "./limits.js";
import type { Handed, Member, Membership, Queue, Turn } from "./queue.js";

export interface WorkOptions {
  /** How many runs this process drives at once (default 10). */
  concurrency?: number;
  /** Limits over all workers together, by the workflow's name. Those of the worker that began last hold for all. */
  limits?: Readonly<Record<string, WorkflowLimits>>;
  crons?: readonly Cron[];
  /** After how many processes in a row have died with a run that got no further it fails with RunPoisonedError (default 5). */
  maxTakeovers?: number;
  /** Between two looks at what nobody has told this process: dead workers, rates, timers that are due (default 1 s). */
  interval?: Duration;
  /** When the worker is stopped, how long the runs that it drives may go on before they are handed back (default 10 s). */
  stopWithin?: Duration;
  /** Told of runs that could not be taken up, and of a queue that fails; by default a process warning. */
  onError?(error: unknown, runId: string | undefined): void;
}

export interface Worker {
  /**
   * Takes no more runs, lets those under way go on for `stopWithin`, and hands back what has not come to rest by then: other
   * workers go on with it at once.
   */
  stop(): Promise<void>;
}

/** After so many milliseconds a run is handed out again that another process has. */
const whileOwned = 1_000;

/** The same for one that this build cannot read, or whose journal is damaged. */
const whileRefused = 60_000;

/** What an app's worker works with. */
export interface WorkPlace {
  queue: Queue;
  driver: Driver;
  codec: Codec;
  /** The workflows of the app. */
  workflows: readonly AnyWorkflow[];
  /** How long a process on another machine that is not heard of counts as alive, in milliseconds. */
  lease: number;
  /** Queues a run that a cron starts. */
  enqueue(
    workflow: AnyWorkflow,
    input: unknown,
    options: { id: string; priority: number | undefined },
  ): Promise<unknown>;
}

/** Work as plain data: what `WorkOptions` come to. */
type Work = Omit<Member, "drive"> & { maxTakeovers: number /** In milliseconds. */; stopWithin: number };

/** @throws InvalidArgumentError, StoreError */
export async function startWorker(place: WorkPlace, options: WorkOptions & Pick<Work, "onError">): Promise<Worker> {
  const { queue, driver } = place;
  const work = workOf(place, options);
  let stopping: Promise<void> | undefined;
  const drive = async (turn: Turn): Promise<Handed> => {
    if (stopping) return { again: 0 };
    try {
      return await goOn(driver, turn, work);
    } catch (error) {
      return afterFailure(error, turn, work);
    }
  };
  const membership = await queue.join({ ...work, drive });
  return {
    stop() {
      stopping ??= stop(membership, driver, work.stopWithin);
      return stopping;
    },
  };
}

async function stop(membership: Membership, driver: Driver, within: number): Promise<void> {
  const over = new AbortController();
  const stopped = membership.stop().finally(() => over.abort());
  // A queue that fails is told of when the runs have been left: whoever is there finds them.
  await Promise.race([stopped.catch(() => {}), setTimeout(within, undefined, { signal: over.signal }).catch(() => {})]);
  await driver.leaveQueued();
  await stopped;
}

async function goOn(driver: Driver, { id, takeovers }: Turn, { maxTakeovers }: Work): Promise<Handed> {
  if (takeovers >= maxTakeovers) {
    await driver.fail(id, new RunPoisonedError(takeovers, { runId: id }));
    return "over";
  }
  const ending = await driver.driveQueued(id);
  if (ending?.status === "left") throw ending.error;
  return "over";
}

function afterFailure(error: unknown, { id }: Turn, { onError }: Work): Handed {
  if (isA(error, ShutdownError)) return { again: 0 };
  if (isA(error, RunOwnedError) || isA(error, StaleOwnerError)) return { again: whileOwned };
  if (isA(error, RunNotFoundError)) return "over";
  onError(error, id);
  return { again: isA(error, StoreError) ? whileOwned : whileRefused };
}

function workOf(place: WorkPlace, options: WorkOptions & Pick<Work, "onError">): Work {
  const { driver, codec, workflows, lease, enqueue } = place;
  const { concurrency = 10, limits = {}, maxTakeovers = 5, onError, interval = 1_000, stopWithin = 10_000 } = options;
  const crons = readCrons(options.crons ?? []);
  const known = [...new Set([...workflows, ...[...crons.values()].map(({ cron }) => cron.workflow)])];
  const work: Work = {
    concurrency: checkCount(concurrency, "concurrency", "Correct it."),
    maxTakeovers: checkCount(maxTakeovers, "maxTakeovers", "Correct it."),
    interval: delay(interval, "`interval`"),
    stopWithin: delay(stopWithin, "`stopWithin`"),
    lease,
    onError,
    owner: driver.ownership.owner,
    workflows: known.map(({ workflowName }) => workflowName),
    limits: readLimits(limits, known),
    crons: [...crons.values()].map(({ times }) => times),
    keyOf: async (id) => {
      const { workflow, input } = await driver.read(id);
      try {
        return limits[workflow]!.perKey!.key(decoded(codec, input, { runId: id }));
      } catch (error) {
        onError(error, id);
        return "";
      }
    },
    tick: async (name, at) => {
      const { cron } = crons.get(name)!;
      await enqueue(cron.workflow, inputAt(cron, at), { id: runIdAt(name, at), priority: cron.priority });
    },
    isDead: (owner, leaseUntil) => isDead(owner, leaseUntil, systemClock.now()),
    isFree: async (id) => driver.ownership.isFree(await driver.read(id)),
  };
  for (const workflow of known) driver.register(workflow);
  return work;
}

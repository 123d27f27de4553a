/** One process's part in the work: it takes jobs, keeps its lease, and looks after what others have left. */
import { EventEmitter } from "node:events";
import { clearInterval, setInterval } from "node:timers";
import { setTimeout } from "node:timers/promises";
import { InvalidArgumentError } from "../../errors.js";
import { shown } from "../../journal/careful.js";
import { PostgresListener } from "../../stores/postgres-listener.js";
import { type Row, runOf } from "../../stores/rows.js";
import type { Owner } from "../../stores/store.js";
import type { Member, Membership } from "../queue.js";
import type { Runner, Task } from "./driver.js";
import { lastingRunner } from "./lasting-runner.js";
import type { Open } from "./queue.js";
import { cronTask, taskOf, wakeTask } from "./schema.js";

/** A run that is handed out, as a job says it. */
interface Turn {
  /** Its number. */
  run: number;
  turn: number;
}

/** @param id the worker's own, unlike any other */
export async function join(open: Open, id: string, member: Member): Promise<Membership> {
  const { pool, statements, graphile, places } = open;
  const { workflows, concurrency, limits, interval, lease, onError } = member;
  const crons = parseCrons(open, member);
  const locks = new Set<string>();
  /** The turns that this worker has, or may have. */
  const held = new Set<Turn>();
  let stopping = false;
  const renew = async (): Promise<void> => {
    const cells = [id, JSON.stringify(member.owner), lease, stopping ? 0 : concurrency, workflows, [...locks]];
    await open.ask(statements.renew, cells);
  };
  const unreadable = new Set<unknown>();
  const admit = coalesced(async () => {
    await tellKeys(open, member, unreadable);
    await open.ask(statements.admit);
  });
  /** Hands out what there is to hand out; what fails is tried again soon. */
  const look = (): void => {
    if (!stopping) void admit().catch((error) => onError(error, undefined));
  };

  await open.ask(statements.unlimited, [workflows]);
  for (const { workflow, concurrency: most, rate, perKey } of limits) {
    const ofKey = [
      perKey !== undefined,
      perKey?.concurrency ?? null,
      perKey?.rate?.limit ?? null,
      perKey?.rate?.per ?? null,
    ];
    await open.ask(statements.limits, [workflow, most ?? null, rate?.limit ?? null, rate?.per ?? null, ...ofKey]);
  }
  await renew();

  const underWay = new Set<Promise<void>>();
  const drive: Task = (payload) => {
    const driven = takeTurn(payload as Turn).finally(() => underWay.delete(driven));
    underWay.add(driven);
    return driven;
  };
  const takeTurn = async (its: Turn): Promise<void> => {
    held.add(its);
    try {
      const [begun] = await open.ask(statements.begin, [its.run, its.turn, id]);
      // It has been handed out again since, or has come to its end.
      if (begun === undefined) return;
      const handed = await member.drive({ id: begun.id as string, takeovers: Number(begun.takeovers) });
      if (handed !== "over") await open.ask(statements.back, [its.run, its.turn, id, handed.again]);
    } finally {
      held.delete(its);
    }
    look();
  };
  const errands: Record<string, Task> = {
    [wakeTask]: async (payload) => {
      await open.ask(statements.wake, [(payload as { run: number }).run]);
    },
    [cronTask]: async (payload) => {
      const { cron, _cron } = payload as { cron: string; _cron: { ts: string } };
      await member.tick(cron, Date.parse(_cron.ts));
    },
  };
  const start = (
    taskList: Record<string, Task>,
    most: number,
    parsedCronItems: unknown[],
  ): Promise<Pick<Runner, "stop">> => {
    const begin = async (stopping: () => void): Promise<Runner> => {
      const events = new EventEmitter();
      /** By which it locks its jobs. */
      const names: string[] = [];
      events.on("pool:create", ({ workerPool }: { workerPool: { id: string } }) => {
        names.push(workerPool.id);
        locks.add(workerPool.id);
      });
      events.on("pool:gracefulShutdown", stopping);
      // What a task throws is tried again by graphile-worker, ever later.
      events.on("job:error", ({ error }: { error: unknown }) => onError(error, undefined));
      const runner = await graphile.run({
        ...{ pgPool: pool, schema: places.jobs, concurrency: most, pollInterval: interval, noHandleSignals: true },
        ...{ taskList, parsedCronItems, events, logger: new graphile.Logger(() => () => {}) },
        preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
      });
      // What it has not been able to unlock is nobody's then.
      void runner.promise
        .catch(() => {})
        .then(() => {
          for (const name of names) locks.delete(name);
        });
      // So that it is known by what names it locks its jobs.
      await renew().catch((error) => onError(error, undefined));
      return runner;
    };
    return lastingRunner(begin, lease / 3, (error) => onError(open.failure(error), undefined));
  };
  // Apart from each other, so that errands are run while all hands are full.
  const tasks = Object.fromEntries(workflows.map((workflow) => [taskOf(workflow), drive]));
  const runners = [await start(tasks, concurrency, [])];
  try {
    runners.push(await start(errands, 2, crons));
  } catch (error) {
    // Not waited for: see `stopped`.
    for (const runner of runners) runner.stop().catch(() => {});
    throw error;
  }

  const listener =
    open.listening &&
    new PostgresListener({
      channel: places.channel,
      heartbeat: lease,
      connect: open.listening,
      hear: look,
      catchUp: async () => look(),
    });
  const inspect = coalesced(async () => {
    // What it could not give back, or was given without being told, since the database was out of reach. What it begins meanwhile
    // it has known since before it was given it.
    const given = await open.ask(statements.held, [id]);
    const known = new Set([...held].map(({ run, turn }) => `${run} ${turn}`));
    const unknown = given.filter(({ run, turn }) => !known.has(`${run} ${turn}`));
    if (unknown.length > 0)
      await open.ask(statements.free, [id, unknown.map(({ run }) => run), unknown.map(({ turn }) => turn)]);
    await lookAfter(open, id, member);
  });
  const timers = [
    setInterval(look, interval),
    setInterval(() => void renew().catch((error) => onError(error, undefined)), lease / 3),
    setInterval(() => void inspect().catch((error) => onError(error, undefined)), interval),
  ];
  look();

  return {
    async stop() {
      // From now on it counts for nothing when runs are handed out.
      stopping = true;
      await renew().catch((error) => onError(error, undefined));
      for (const timer of timers) clearInterval(timer);
      await listener?.stop();
      await stopped(runners, underWay).catch((error) => onError(error, undefined));
      await Promise.allSettled([admit.rest(), inspect.rest()]);
      await open.ask(statements.leave, [id]);
    },
  };
}

/**
 * Resolves when runners have stopped, and what they drive has come to its end. One that has lost the database meanwhile may never
 * say that it has stopped: it has nothing to do any more, and is left.
 */
async function stopped(
  runners: ReadonlyArray<Pick<Runner, "stop">>,
  underWay: ReadonlySet<Promise<void>>,
): Promise<void> {
  const over = new AbortController();
  const silent = async (): Promise<void> => {
    while (underWay.size > 0) await Promise.allSettled(underWay);
    await setTimeout(longestStop, undefined, { signal: over.signal }).catch(() => {});
  };
  const all = Promise.all(runners.map((runner) => runner.stop()));
  await Promise.race([all, silent()]).finally(() => over.abort());
}

/** Milliseconds. */
const longestStop = 5_000;

/** @throws InvalidArgumentError */
function parseCrons({ graphile }: Open, { crons }: Member): unknown[] {
  return crons.flatMap(({ name, schedule, backfill }) => {
    const item = { task: cronTask, match: schedule, identifier: `stepmark:${name}`, payload: { cron: name } };
    try {
      return graphile.parseCronItems([{ ...item, options: { backfillPeriod: backfill } }]);
    } catch (cause) {
      throw new InvalidArgumentError(
        `The schedule ${shown(schedule)} of the cron ${JSON.stringify(name)} cannot be read`,
        'Give minute, hour, day of the month, month and day of the week, such as "0 9 * * 1".',
        { cause },
      );
    }
  });
}

/**
 * Tells the keys of runs whose limits go by one: only the app knows them, which has the inputs and the workflows' code.
 *
 * @param unreadable gets the runs whose inputs cannot be had: they are told of once, and not handed out before that is mended
 */
async function tellKeys({ ask, statements }: Open, member: Member, unreadable: Set<unknown>): Promise<void> {
  const { limits, keyOf, onError } = member;
  const workflows = limits.filter(({ perKey }) => perKey !== undefined).map(({ workflow }) => workflow);
  if (workflows.length === 0) return;
  const told: Array<[run: unknown, key: string]> = [];
  const tell = async ({ run, id }: Row): Promise<void> => {
    try {
      told.push([run, await keyOf(id as string)]);
    } catch (error) {
      if (!unreadable.has(run)) onError(error, id as string);
      unreadable.add(run);
    }
  };
  await Promise.all((await ask(statements.unkeyed, [workflows])).map(tell));
  if (told.length > 0) await ask(statements.key, [told.map(([run]) => run), told.map(([, key]) => key)]);
}

/** Takes over what dead workers had, and takes in runs that nobody has queued and nobody drives. */
async function lookAfter(open: Open, id: string, { lease, isDead, isFree, workflows }: Member): Promise<void> {
  const { statements } = open;
  for (const { id: other, owner, lease_until, left } of await open.ask(statements.workers, [id])) {
    const now = Date.now();
    if (isDead(JSON.parse(owner as string) as Owner, now + Number(left)))
      await open.ask(statements.bury, [other, lease_until]);
  }
  await open.ask(statements.mend, [lease]);
  for (const row of await open.ask(statements.strays, [workflows, lease])) {
    const run = runOf(row);
    if (await isFree(run.id)) await open.ask(statements.put, [run.id, 0, null, false]);
  }
}

interface Coalesced {
  /** Resolves when the work has been done once more, from now on. */
  (): Promise<void>;
  /** Resolves when none of it is under way. */
  rest(): Promise<unknown>;
}

/** Work that is done again for all who ask while it is under way, once. */
function coalesced(work: () => Promise<void>): Coalesced {
  let current: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const begin = (): Promise<void> => {
    const done = work().finally(() => {
      if (current === done) current = undefined;
    });
    current = done;
    return done;
  };
  const again = (): Promise<void> => {
    if (current === undefined) return begin();
    next ??= current
      .catch(() => {})
      .then(() => {
        next = undefined;
        return begin();
      });
    return next;
  };
  return Object.assign(again, { rest: () => Promise.allSettled([current, next]) });
}

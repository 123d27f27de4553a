/**
 * Asks the store for news of runs that this process does not drive: again and again, once for all who want to know of a run.
 * The less there is to be told of a run, and the more runs are watched, the less often.
 */
import { performance } from "node:perf_hooks";
import { clearTimeout, setTimeout } from "node:timers";
import { RunNotFoundError, ShutdownError } from "../errors.js";
import type { Entry } from "../journal/entry.js";
import { storeFailure } from "../run/end/refusals.js";
import { outsideRuns } from "../scope/outside.js";
import type { RunRecord, Store } from "../stores/store.js";
import { pageSize } from "./event-stream.js";

/** How long the store is left alone about a run that has only just got further, and how long at most, in milliseconds. */
const shortest = 100;
const longest = 1_000;

/** Most looks at the store in a second, for all runs together: a process that watches thousands must not be a burden. */
const looksPerSecond = 1_000;

/**
 * Milliseconds until the store is asked about a run again.
 *
 * @param quiet for how long nothing has come of it
 * @param runs how many are watched
 */
export function pauseAfter(quiet: number, runs: number): number {
  return Math.max(shortest, Math.min(quiet / 10, longest), (runs * 1_000) / looksPerSecond);
}

/** Somebody who wants to know of a run until `look` or `fail` has told enough. */
export interface Watcher {
  /** Only entries after this one are of interest; Infinity: none. */
  readonly position: number;
  /**
   * @param entries the next ones after `position`: if there are none, there were none when `run` was read
   * @returns whether it has seen enough
   */
  look(run: RunRecord, entries: readonly Entry[]): boolean;
  fail(error: unknown): void;
}

/** What the store said last of a run that is watched. */
interface Watched {
  readonly watchers: Set<Watcher>;
  /** Whom the store is being asked for, by the position that it is asked from. */
  readonly asking: Map<number, Asked>;
  news: News | undefined;
  /** When the store said so, and since when it has said the same; by `performance.now`. */
  toldAt: number;
  sameSince: number;
  timer: NodeJS.Timeout | undefined;
}

interface Asked {
  /** Who was there when the reading began. */
  readonly watchers: Watcher[];
  /** Who has come since: how the run stands may be news to what is being read. */
  readonly late: Watcher[];
}

interface News {
  run: RunRecord;
  /** What `entries` begin after. */
  from: number;
  entries: readonly Entry[];
}

export class Watch {
  private readonly runs = new Map<string, Watched>();
  private closed = false;

  constructor(private readonly store: Store) {}

  /** Asks for `watcher` at once, if nobody has just now, and then after each pause. */
  add(id: string, watcher: Watcher): void {
    const watched = this.runs.get(id) ?? {
      watchers: new Set(),
      asking: new Map(),
      news: undefined,
      toldAt: 0,
      sameSince: 0,
      timer: undefined,
    };
    if (!this.closed) this.runs.set(id, watched);
    const { news, toldAt } = watched;
    const isEnough = news !== undefined && performance.now() - toldAt < shortest && holds(news, watcher.position);
    if (isEnough && tell(watcher, news)) return;
    watched.watchers.add(watcher);
    hold(watched);
    if (!isEnough) this.ask(id, watched, watcher.position, [watcher]);
  }

  remove(id: string, watcher: Watcher): void {
    const watched = this.runs.get(id);
    if (watched?.watchers.delete(watcher)) hold(watched);
  }

  /** There will be news of a run: it is looked for as soon and as often as if there had just been some. */
  expect(id: string): void {
    const watched = this.runs.get(id);
    if (watched?.timer === undefined) return;
    clearTimeout(watched.timer);
    watched.timer = undefined;
    watched.sameSince = performance.now();
    this.arm(id, watched);
  }

  /** From now on everybody gets what the store can tell at once, and does not wait for news. */
  close(): void {
    this.closed = true;
    for (const [id, watched] of this.runs) giveUp(id, watched);
    this.runs.clear();
  }

  private ask(id: string, watched: Watched, from: number, watchers: Watcher[]): void {
    const under = watched.asking.get(from);
    if (under !== undefined) {
      under.late.push(...watchers);
      return;
    }
    const asked: Asked = { watchers, late: [] };
    watched.asking.set(from, asked);
    const take = (among: readonly Watcher[], look: (watcher: Watcher) => boolean): void => {
      watched.asking.delete(from);
      for (const watcher of among) if (watched.watchers.has(watcher) && look(watcher)) watched.watchers.delete(watcher);
    };
    const goOn = (): void => {
      if (this.closed) giveUp(id, watched);
      else this.arm(id, watched);
    };
    this.read(id, from).then(
      (news) => {
        const now = performance.now();
        if (isNew(news, watched.news)) watched.sameSince = now;
        watched.toldAt = now;
        watched.news = news;
        const isEnough = this.closed || holds(news, from);
        take(isEnough ? [...watchers, ...asked.late] : watchers, (watcher) => tell(watcher, news));
        const again = asked.late.filter((watcher) => watched.watchers.has(watcher));
        if (!isEnough && again.length > 0) this.ask(id, watched, from, again);
        goOn();
      },
      (error) => {
        take([...watchers, ...asked.late], (watcher) => {
          watcher.fail(this.closed ? new ShutdownError(id) : error);
          return true;
        });
        goOn();
      },
    );
  }

  private async read(id: string, from: number): Promise<News> {
    try {
      // The run first: what it says of its end holds for all its entries.
      const run = await this.store.read(id);
      if (run === undefined) throw new RunNotFoundError(id);
      const entries = from === Number.POSITIVE_INFINITY ? [] : await this.store.entries(id, from, pageSize);
      return { run, from, entries: entries.slice(0, pageSize) };
    } catch (error) {
      throw storeFailure(id, error);
    }
  }

  private arm(id: string, watched: Watched): void {
    watched.timer ??= outsideRuns(() =>
      setTimeout(
        () => {
          watched.timer = undefined;
          const watchers = [...watched.watchers];
          const from = Math.min(...watchers.map(({ position }) => position));
          if (watchers.length > 0) this.ask(id, watched, from, watchers);
          else if (this.runs.get(id) === watched) this.runs.delete(id);
        },
        pauseAfter(performance.now() - watched.sameSince, this.runs.size),
      ),
    );
    hold(watched);
  }
}

/** Lets the timer keep the process alive only for whoever needs it: listeners to a run that waits do not. */
function hold({ watchers, news, timer }: Watched): void {
  const waits = news?.run.status === "waiting";
  if ([...watchers].some(({ position }) => !waits || position === Number.POSITIVE_INFINITY)) timer?.ref();
  else timer?.unref();
}

/** Turns away those for whom the store is not being asked. */
function giveUp(id: string, { watchers, asking, timer }: Watched): void {
  clearTimeout(timer);
  const asked = new Set([...asking.values()].flatMap(({ watchers, late }) => [...watchers, ...late]));
  for (const watcher of [...watchers]) {
    if (asked.has(watcher)) continue;
    watchers.delete(watcher);
    watcher.fail(new ShutdownError(id));
  }
}

/** Whether the run has got further than it was. */
function isNew({ run, entries }: News, last: News | undefined): boolean {
  if (entries.length > 0 || last === undefined) return true;
  return run.status !== last.run.status || run.updatedAt !== last.run.updatedAt || run.fence !== last.run.fence;
}

/**
 * Whether the news are as good as the store's own to somebody who has only just come: entries stay what they are, but a
 * run that has ended or waits may have gone on since.
 */
function holds(news: News, position: number): boolean {
  if (!covers(news, position)) return false;
  return news.run.status === "running" || news.entries.some(({ seq }) => seq > position);
}

/** Whether the news tell all there was after `position`, or the next of it. */
function covers({ from, entries }: News, position: number): boolean {
  if (position === Number.POSITIVE_INFINITY) return true;
  return position >= from && (entries.length < pageSize || position < entries.at(-1)!.seq);
}

/** @returns whether the watcher has seen enough */
function tell(watcher: Watcher, news: News): boolean {
  if (!covers(news, watcher.position)) return false;
  return watcher.look(
    news.run,
    news.entries.filter(({ seq }) => seq > watcher.position),
  );
}

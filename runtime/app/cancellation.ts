/**
 * Ends runs for good. One that nobody drives is ended in the store; one that this process drives, here; and whoever else drives
 * one is asked to, by a message that stays with the run: if that process dies first, whoever takes the run up ends it.
 */
import type { Clock } from "../clock.js";
import { RunOwnedError, StaleOwnerError } from "../errors.js";
import { isA } from "../journal/careful.js";
import type { Codec } from "../journal/codec.js";
import { cancelled, wakeOf } from "../run/end/ending.js";
import { cancelRequest, isCancelRequest } from "../run/live/cancel-request.js";
import type { ParentCall, RunRecord, Store } from "../stores/store.js";
import type { ActiveRun } from "./active-run.js";
import { hasEnded } from "./ended.js";
import type { Ownership } from "./ownership.js";
import { isBegunBy, isParent } from "./parenthood.js";
import { runInfo } from "./run-info.js";
import type { Watch, Watcher } from "./watch.js";

export interface CancellationOptions {
  store: Store;
  codec: Codec;
  clock: Clock;
  ownership: Ownership;
  watch: Watch;
  /** Milliseconds from one look whether the owner of a run has died to the next. */
  patience: number;
  /** @throws RunNotFoundError, StoreError */
  read(id: string): Promise<RunRecord>;
  /** The run as this process drives it: what it is about to take up, it drives by then. */
  here(id: string): Promise<ActiveRun | undefined>;
  /** Told of a run that was ended in the store. */
  over(id: string): void;
}

export class Cancellation {
  constructor(private readonly options: CancellationOptions) {}

  /** See `Stepmark.cancel`. */
  async cancel(id: string): Promise<void> {
    const { store, codec, read, here } = this.options;
    const active = await here(id);
    if (active === undefined || !(await this.cancelHere(active))) await this.cancelElsewhere(id);
    const run = await read(id);
    for (const { id: child, key, status } of runInfo(run, await store.entries(id), codec).children)
      if (status === "open" && (await this.isBegunBy(child, { id, key, createdAt: run.createdAt })))
        await this.cancel(child);
  }

  /** @returns whether the run has ended: it may go on elsewhere, or later */
  private async cancelHere({ execution: { lifetime } }: ActiveRun): Promise<boolean> {
    try {
      await lifetime.cancel();
    } catch (error) {
      // It waited here, and another process has gone on with it.
      if (!isA(error, StaleOwnerError)) throw error;
    }
    const { status } = await lifetime.ended;
    return status !== "left" && status !== "dormant";
  }

  /**
   * Whether a call has begun the run that it asks for. If it has not yet, that run ends as soon as it is taken up; and another run
   * may have the id.
   */
  private async isBegunBy(id: string, call: ParentCall): Promise<boolean> {
    const run = await this.options.store.read(id);
    return run !== undefined && isBegunBy(run, call);
  }

  /** Whether a run that could go on is to be cancelled instead. */
  async isDue({ id, status, fence, parent }: RunRecord): Promise<boolean> {
    const { store } = this.options;
    if (hasEnded(status)) return false;
    // Only of a run that somebody drives, cancellation is asked for.
    if (fence > 0 && (await store.inbox(id)).some(isCancelRequest)) return true;
    // A process that cancelled the parent has died before it came to this one.
    const run = parent && (await store.read(parent.id));
    return run?.status === "cancelled" && isParent(run, parent!);
  }

  /**
   * Ends a run that nobody drives.
   *
   * @throws RunOwnedError if somebody does
   */
  async cancelStored(id: string): Promise<void> {
    const { store, clock, ownership, read, over } = this.options;
    if (hasEnded((await read(id)).status)) return;
    await ownership.during(id, ({ fence, parent }) =>
      store.append(id, fence, [], { ...cancelled, ...wakeOf(parent, clock.now()) }),
    );
    over(id);
  }

  private async cancelElsewhere(id: string): Promise<void> {
    const { store, clock } = this.options;
    for (let isAsked = false; ; isAsked = true) {
      try {
        return await this.cancelStored(id);
      } catch (error) {
        if (!isA(error, RunOwnedError)) throw error;
      }
      if (!isAsked) await store.post(id, cancelRequest(clock.now()), { once: true });
      await this.ended(id);
    }
  }

  /** Resolves when a run has ended, or its owner may have died. */
  private ended(id: string): Promise<void> {
    const { watch, clock, patience } = this.options;
    return new Promise((resolve, reject) => {
      const watcher: Watcher = {
        position: Number.POSITIVE_INFINITY,
        look: ({ status, owner }) => {
          if (!hasEnded(status) && owner !== undefined) return false;
          stop();
          resolve();
          return true;
        },
        fail: (error) => {
          stop();
          reject(error);
        },
      };
      const stop = clock.after(patience, () => {
        watch.remove(id, watcher);
        resolve();
      });
      watch.add(id, watcher);
    });
  }
}

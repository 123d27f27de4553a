/**
 * Which runs this app owns: takes them, renews their leases while it drives them, takes them back after a pause, and
 * gives up what it has left.
 */
import { randomUUID } from "node:crypto";
import { clearInterval, setInterval } from "node:timers";
import { isDeepStrictEqual } from "node:util";
import { type Clock, type Deadline, deadlineIn, isOver } from "../clock.js";
import { RunNotFoundError, RunOwnedError, StaleOwnerError } from "../errors.js";
import { isA } from "../journal/careful.js";
import type { Execution } from "../run/execution.js";
import { outsideRuns } from "../scope/outside.js";
import { isDead, thisProcess } from "../stores/owner.js";
import type { Claim, Lease, Owner, RunRecord, RunStanding, Store, Takeovers } from "../stores/store.js";
import type { ActiveRun } from "./active-run.js";

export class Ownership {
  readonly owner: Owner = thisProcess(randomUUID());
  /**
   * Runs that this app has left, or may have been given without being told, and could not give up yet, since the store had
   * failed: their fences, where they are known.
   */
  private readonly left = new Map<string, number | undefined>();
  /** Until when no other machine can have taken a run: counted from when the lease was asked for. */
  private readonly sure = new Map<string, Deadline>();
  /** Of those that it took over from processes that had ended. */
  private readonly takenOver = new Map<string, Takeovers>();
  private renewing: Promise<void> | undefined;
  /** Whether the last heartbeat's looks at the store are still under way. */
  private tending = false;
  private heartbeat: NodeJS.Timeout | undefined;
  private over = false;

  /**
   * @param leaseTime how long an owner on another machine counts as alive without renewing, in milliseconds
   * @param active the runs that the app drives
   * @param news there is a message for one of them
   */
  constructor(
    private readonly store: Store,
    private readonly clock: Clock,
    private readonly leaseTime: number,
    private readonly active: ReadonlyMap<string, ActiveRun>,
    private readonly news: (id: string) => Promise<void>,
  ) {}

  /** Whether the app may take a run: nobody has it, or its owner is dead. */
  isFree({ id, owner, leaseUntil = 0 }: RunStanding): boolean {
    return owner === undefined || this.isGone(id, owner, leaseUntil, this.clock.now());
  }

  /** Whether an owner has running runs that this app may take: not necessarily, where it is this app. */
  isLeft(owner: Owner, leaseUntil: number, runs: number): boolean {
    if (owner.token !== this.owner.token) return isDead(owner, leaseUntil, this.clock.now());
    // As far as the store tells them apart, owners with takeovers are owners of their own.
    const own = [...this.active.values()].filter(
      ({ id, execution }) =>
        execution.ownedFence !== undefined && isDeepStrictEqual(this.takenOver.get(id), owner.takeovers),
    );
    return runs > own.length;
  }

  /**
   * How many processes have ended with a run that this app is about to take up; undefined: the last one that drove it did not.
   *
   * @param lastSeq number of the run's last entry
   */
  takeoversOf({ status, owner }: RunRecord, lastSeq: number): Takeovers | undefined {
    if (status !== "running" || owner === undefined || owner.token === this.owner.token) return undefined;
    const { count = 0, reached = 0 } = owner.takeovers ?? {};
    return { count: lastSeq > reached ? 1 : count + 1, reached: lastSeq };
  }

  /**
   * Takes a run for `work`, which gives it up or has it driven. If the work fails, it is given up here.
   *
   * @param takeovers with how many processes it has ended before, if this is one more takeover
   * @throws RunOwnedError if somebody who lives has the run; what `work` throws
   */
  async during<T>(id: string, work: (run: RunRecord) => Promise<T>, takeovers?: Takeovers): Promise<T> {
    const run = await this.claim(id, takeovers);
    try {
      const result = await work(run);
      if (!this.active.has(id)) this.forget(id);
      return result;
    } catch (error) {
      this.leave(id, run.fence);
      await this.giveUpLeft();
      throw error;
    }
  }

  private async claim(id: string, takeovers?: Takeovers): Promise<RunRecord> {
    const lease = this.lease();
    const sure = deadlineIn(this.leaseTime);
    const isGone = (owner: Owner, until: number): boolean => this.isGone(id, owner, until, lease.now);
    const owner = takeovers === undefined ? this.owner : { ...this.owner, takeovers };
    // What was left is what is taken now.
    this.left.delete(id);
    let claim: Claim;
    try {
      claim = await this.store.claim(id, owner, isGone, lease);
    } catch (error) {
      // It may have been taken all the same.
      if (!isA(error, RunNotFoundError)) this.leave(id);
      throw error;
    }
    if (claim.claimed) {
      this.sure.set(id, sure);
      if (takeovers === undefined) this.takenOver.delete(id);
      else this.takenOver.set(id, takeovers);
      return claim.run;
    }
    throw new RunOwnedError(`The run is driven by ${describeOwner(claim.owner, this.owner)}`, { runId: id });
  }

  /**
   * Takes a run back after a pause, if nobody else had it meanwhile: what is in memory would be out of date.
   *
   * @returns the new fence
   * @throws StaleOwnerError
   */
  async reclaim(id: string, fence: number): Promise<number> {
    // Looked up first, so as not to get in the way of whoever has it.
    const found = await this.store.read(id);
    if (found === undefined) throw new RunNotFoundError(id);
    if (found.fence !== fence) throw new StaleOwnerError(id);
    const run = await this.claim(id).catch((error: unknown) => {
      // Somebody else was faster.
      throw isA(error, RunOwnedError) ? new StaleOwnerError(id) : error;
    });
    return run.fence === fence + 1 ? run.fence : this.letGo(id, run.fence);
  }

  /**
   * Gives up a run that was taken for nothing.
   *
   * @throws StaleOwnerError
   */
  async letGo(id: string, fence: number): Promise<never> {
    this.leave(id, fence);
    await this.giveUpLeft();
    throw new StaleOwnerError(id);
  }

  /**
   * Whether a run that this app has is still its own for certain. An acknowledgement that was long on its way, or a process that
   * stood still, may come back when another machine has gone on with the run, which then must not be done here again.
   */
  isSure(id: string): boolean {
    const sure = this.sure.get(id);
    return sure !== undefined && !isOver(sure);
  }

  /**
   * Renews the leases, and leaves the runs that were lost.
   *
   * @throws StoreError
   */
  makeSure(): Promise<void> {
    this.renewing ??= this.renew().finally(() => {
      this.renewing = undefined;
    });
    return this.renewing;
  }

  /** From now on, the leases of the runs that the app drives are renewed. */
  keep(): void {
    if (this.over) return;
    this.heartbeat ??= outsideRuns(() => setInterval(() => this.beat(), this.leaseTime / 3).unref());
  }

  private beat(): void {
    // The next append will tell; a lease that could not be renewed is no reason to stop before.
    this.makeSure().catch(() => {});
    void this.tend();
    for (const id of this.sure.keys()) if (!this.active.has(id)) this.forget(id);
  }

  /** What else a heartbeat looks after. A store that takes its time is not asked again meanwhile. */
  private async tend(): Promise<void> {
    if (this.tending) return;
    this.tending = true;
    // Whoever has sent a message may have had no way to tell this process.
    await Promise.allSettled([this.giveUpLeft(), this.noticeTakeovers(), this.readNews()]);
    this.tending = false;
  }

  /**
   * Reads what has come for the runs that the app drives.
   *
   * @throws StoreError
   */
  async readNews(): Promise<void> {
    if (this.active.size === 0) return;
    for (const id of await this.store.messaged([...this.active.keys()])) await this.news(id);
  }

  /**
   * The app has left a run that it may still own.
   *
   * @param fence if it is known
   */
  leave(id: string, fence?: number): void {
    const known = this.left.get(id);
    // Where a claim has come to nobody knows what, the fence of before it is no more.
    const isUnknown = this.left.has(id) && known === undefined;
    if (!isUnknown && (known === undefined || fence === undefined || fence > known)) this.left.set(id, fence);
    this.keep();
  }

  /** The app has given the run up and does not drive it any more. */
  forget(id: string): void {
    this.sure.delete(id);
    this.takenOver.delete(id);
  }

  /** Tells the store which runs this app has left, so that others can go on with them while this process lives. */
  async giveUpLeft(): Promise<void> {
    for (const [id, known] of [...this.left]) {
      try {
        const fence = known ?? (await this.fenceOf(id));
        // Meanwhile this app may have set out to take it again.
        if (!this.left.has(id)) continue;
        if (fence !== undefined) await this.store.append(id, fence, [], { release: true });
      } catch (error) {
        // Taken over meanwhile, by this app or another one. A store that fails is asked again.
        if (!isA(error, StaleOwnerError)) continue;
      }
      if (this.left.get(id) === known) this.left.delete(id);
    }
  }

  /** Under which fence the app has a run; undefined if it has not. */
  private async fenceOf(id: string): Promise<number | undefined> {
    const run = await this.store.read(id);
    return run?.owner?.token === this.owner.token ? run.fence : undefined;
  }

  stop(): void {
    this.over = true;
    clearInterval(this.heartbeat);
  }

  private isGone(id: string, owner: Owner, leaseUntil: number, now: number): boolean {
    // What this app gave up without being able to say so, since the store had failed, is its to take again.
    return owner.token === this.owner.token ? !this.active.has(id) : isDead(owner, leaseUntil, now);
  }

  private lease(): Lease {
    const now = this.clock.now();
    return { now, until: now + this.leaseTime };
  }

  private async renew(): Promise<void> {
    const fences = new Map<string, number>();
    for (const [id, { execution }] of this.active)
      if (execution.ownedFence !== undefined) fences.set(id, execution.ownedFence);
    if (fences.size === 0) return;
    const sure = deadlineIn(this.leaseTime);
    const lost = new Set(await this.store.renew(fences, this.lease()));
    for (const [id, fence] of fences) {
      const execution = this.active.get(id)?.execution;
      if (execution?.ownedFence !== fence) continue;
      if (lost.has(id)) lose(execution);
      else this.sure.set(id, sure);
    }
  }

  /** Lets go of runs that were given up here while they waited and that another process has gone on with since. */
  private async noticeTakeovers(): Promise<void> {
    const given = [...this.active.values()].filter(({ execution }) => execution.ownedFence === undefined);
    if (given.length === 0) return;
    const { token } = this.owner;
    const kept = await this.store.kept(
      token,
      given.map(({ id }) => id),
    );
    const isKept = new Set(kept.map(({ id }) => id));
    for (const active of given) {
      const { id, fence, execution } = active;
      if (isKept.has(id)) continue;
      const run = await this.store.read(id);
      const takenOver = run !== undefined && run.fence !== fence && run.owner?.token !== token;
      if (takenOver && active.fence === fence) lose(execution);
    }
  }
}

/** Stops driving a run that another process has. What of it is still on its way to the store holds nobody up. */
function lose({ id, lifetime }: Execution): void {
  lifetime.leave(new StaleOwnerError(id)).catch(() => {});
}

/** An owner in words. A host's name may be followed by what tells machines of one name apart. */
function describeOwner({ host, pid }: Owner, here: Owner): string {
  if (host === here.host && pid === here.pid) return "another `Stepmark` of this process";
  return `process ${pid} on ${host.split("/")[0]}, which is alive`;
}

/** A store that takes its time, and that fails or dies when it is told to. */
import type { Entry, MemoryStore, Message, NewRun, RunChange, Store } from "stepmark";
import type { Conditions } from "./process.js";
import type { Scheduler } from "./scheduler.js";

export interface StorePlan {
  /** The append, counted from 1, at which the process dies: nothing that it asked for is answered any more. */
  dieAt?: number;
  /** That append takes effect, though its process does not learn of it. */
  dieAfter?: boolean;
  /** The append, counted from 1, after which the app is shut down. */
  leaveAt?: number;
  /** The append, counted from 1, after which the run is cancelled. */
  cancelAt?: number;
  /** The append, counted from 1, that fails. */
  failAt?: number;
  /** Takes every owner for dead. */
  usurp?: boolean;
  /** Another process drives the run, or will. */
  contested?: boolean;
  /** Called when so many appends have taken effect. */
  notice?: { after: number; call: () => void };
}

/** Messages to waits that a journal, since it was cut, does not hold. */
export interface LostMessages {
  numbers: ReadonlySet<number>;
  targets: ReadonlySet<string>;
}

export interface StoreOptions {
  plan: StorePlan;
  conditions: Conditions;
  /** Messages to a run that nobody gets to see. */
  lost(id: string): LostMessages;
  onCreate(run: NewRun): void;
  onPost(message: Message): void;
  /** Told of the entries that are written or read. */
  onEntries(id: string, entries: readonly Entry[]): void;
  /** Told of each append when it has taken effect. */
  onAppend(number: number): void;
}

export class SimulatedStore {
  dead = false;
  /** Once its life has been seen to the end, nothing happens to the process any more. */
  calm = false;
  /** Number of the last entry of each run that is known to be durable. */
  readonly durable = new Map<string, number>();
  appends = 0;
  readonly wrong: string[] = [];
  private order: Promise<void> = Promise.resolve();
  private readonly buried: Array<(error: Error) => void> = [];

  constructor(
    readonly memory: MemoryStore,
    private readonly scheduler: Scheduler,
    private readonly options: StoreOptions,
  ) {}

  /** As the library sees it. */
  get facade(): Store {
    const { memory } = this;
    return {
      create: this.late((run) => {
        this.options.onCreate(run);
        return memory.create(run);
      }),
      restore: this.late((runs) => memory.restore(runs)),
      read: this.late((id) => memory.read(id)),
      list: this.late((filter) => memory.list(filter)),
      ready: this.late((until) => memory.ready(until)),
      left: this.late((isDead) => memory.left(isDead)),
      kept: this.late((keeper, ids) => memory.kept(keeper, ids)),
      timers: this.late((keeper, limit, after) => memory.timers(keeper, limit, after)),
      entries: this.late(async (id, after) => {
        const entries = await memory.entries(id, after);
        this.see(id, entries);
        return entries;
      }),
      claim: this.late((id, owner, isDead, lease) =>
        memory.claim(id, owner, this.options.plan.usurp ? () => true : isDead, lease),
      ),
      renew: this.late((fences, lease) => memory.renew(fences, lease)),
      append: (...args) => this.append(...args),
      // What a cut has made unseen must not count either.
      post: this.late(async (id, message, { once = false } = {}) => {
        const { targets } = this.options.lost(id);
        const posted = await memory.post(id, message, { once: once && !targets.has(message.target) });
        if (posted !== undefined) this.options.onPost(posted);
        return posted;
      }),
      inbox: this.late(async (id) =>
        (await memory.inbox(id)).filter(({ number }) => !this.options.lost(id).numbers.has(number)),
      ),
      messaged: this.late((ids) => memory.messaged(ids)),
      sent: this.late((id, key) => memory.sent(id, key)),
      onPost: (listener) => memory.onPost(listener),
      delete: this.late((id) => memory.delete(id)),
      close: async () => {},
    };
  }

  /** Fails everything that the dead process still waits for, so that nothing of it is left. */
  bury(): void {
    this.dead = true;
    for (const reject of this.buried.splice(0)) reject(new Error("The process is dead"));
  }

  private async append(id: string, fence: number, entries: readonly Entry[], change?: RunChange): Promise<void> {
    const before = this.order;
    const mine = before.then(() => this.scheduler.turn());
    this.order = mine;
    await mine;
    await this.alive();
    const number = ++this.appends;
    const { plan, conditions } = this.options;
    const { dieAt, dieAfter, failAt, notice } = this.calm ? { notice: plan.notice } : (plan as StorePlan);
    if (number === failAt) throw new Error("disk full");
    if (number === dieAt && !dieAfter) this.dead = true;
    await this.alive();
    const owned = (await this.memory.read(id))?.fence ?? 0;
    const changed = conditions.consumes ? change : { ...change, consume: [] };
    await this.memory.append(id, conditions.fenced ? fence : owned, entries, changed);
    if (owned !== fence) this.wrong.push("a process that does not own the run has written to its journal");
    this.see(id, entries);
    if (number === dieAt) this.dead = true;
    if (number === notice?.after) notice.call();
    if (!this.calm) this.options.onAppend(number);
    // An acknowledgement takes its time, and need not come in order.
    await this.scheduler.turn();
    await this.alive();
  }

  private see(id: string, entries: readonly Entry[]): void {
    this.durable.set(id, Math.max(this.durable.get(id) ?? 0, entries.at(-1)?.seq ?? 0));
    this.options.onEntries(id, entries);
  }

  private late<A extends unknown[], R>(method: (...args: A) => Promise<R>): (...args: A) => Promise<R> {
    return async (...args) => {
      await this.scheduler.turn();
      await this.alive();
      return method(...args);
    };
  }

  /** Never resolves once the process is dead. */
  private async alive(): Promise<void> {
    if (this.dead) await new Promise<void>((_, reject) => this.buried.push(reject));
  }
}

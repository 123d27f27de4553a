/** A run's inbox: which messages its open waits take, and what becomes of them. */
import type { Clock } from "../../clock.js";
import { wordsOf } from "../../journal/careful.js";
import type { Codec } from "../../journal/codec.js";
import type { Entry } from "../../journal/entry.js";
import { outsideRuns } from "../../scope/outside.js";
import type { Message, Store } from "../../stores/store.js";
import type { Call } from "../call.js";
import type { Lifetime } from "../end/lifetime.js";
import { isUnreadable } from "../end/refusals.js";
import { isCancelRequest } from "./cancel-request.js";
import type { Answer, CheckedAnswer, OpenWait, WaitingRoom } from "./waiting-room.js";

/** How a wait ends, or goes on: an entry, and the messages that it uses up. */
export interface Taken {
  call: Call;
  details: Partial<Entry> & Pick<Entry, "state">;
  /** Encoded value that the code receives; undefined if the wait stays open. */
  outcome: { state: "done" | "failed"; value: string } | undefined;
  messages: readonly Message[];
}

export interface InboxOptions {
  id: string;
  store: Store;
  codec: Codec;
  clock: Clock;
  waits: WaitingRoom;
  lifetime: Lifetime;
  /** Writes what becomes of a wait. */
  take(taken: Taken): void;
  /** Called when another process has asked for the run's cancellation. */
  onCancelRequest?(): void;
  /** Called after each reading. */
  onRead(): void;
}

export class Inbox {
  /** What no wait has taken yet, in order of arrival. */
  private readonly unread = new Set<Message>();
  /** Number of the last message that was read. */
  private last = 0;
  private reading: Promise<void> | undefined;
  /** The reading after that. */
  private next: Promise<void> | undefined;
  /** The waits that it is to look at. */
  private readonly keys = new Set<string>();

  constructor(private readonly options: InboxOptions) {}

  get isBeingRead(): boolean {
    return this.reading !== undefined || this.next !== undefined;
  }

  /**
   * Takes answers out of the inbox for the waits that are open, and looks whether the run is to be cancelled.
   *
   * @param key of a wait whose outcome may be there without a message
   */
  async read(key?: string): Promise<void> {
    if (key !== undefined) this.keys.add(key);
    if (this.reading === undefined) return this.begin();
    // The store may have been asked already: there is to be one more, for all that have come meanwhile.
    this.next ??= this.reading.then(() => {
      this.next = undefined;
      return this.begin();
    });
    return this.next;
  }

  private begin(): Promise<void> {
    if (!this.options.lifetime.open) return Promise.resolve();
    const keys = [...this.keys];
    this.keys.clear();
    this.reading = this.readOnce(keys).finally(() => {
      this.reading = undefined;
      this.options.onRead();
    });
    return this.reading;
  }

  private async readOnce(keys: readonly string[]): Promise<void> {
    const { id, store, waits, lifetime } = this.options;
    try {
      const outcomes = await Promise.all(keys.map((key) => waits.open.get(key)?.look?.()));
      for (const message of await store.inbox(id, this.last)) this.keep(message);
      for (const message of this.unread) if (isCancelRequest(message)) return this.options.onCancelRequest?.();
      // The inbox was read across a pause of this code: only now is it certain which waits are open.
      await this.takeMessages();
      keys.forEach((key, i) => {
        const outcome = outcomes[i];
        if (outcome !== undefined) this.takeOutcome(key, outcome);
      });
    } catch (error) {
      // A message that cannot be read is there when that is mended, and so is what it told of.
      if (isUnreadable(error)) lifetime.refuse(error);
      else lifetime.breakOff(error);
    }
  }

  private keep(message: Message): void {
    if (message.number <= this.last) return;
    this.last = message.number;
    this.unread.add(message);
  }

  /** Takes messages for the waits that are open, in order of arrival. */
  private async takeMessages(): Promise<void> {
    const { waits, clock, lifetime } = this.options;
    for (const message of this.unread) {
      if (!lifetime.open) return;
      if (waits.find(message) === undefined) continue;
      // What fell due before the answer came was first, also if no process was there to see it.
      waits.fireDue(Math.min(message.at, clock.now()));
      const wait = waits.find(message);
      if (wait === undefined) continue;
      const answer = wait.look === undefined ? await read(message, wait) : await wait.look();
      // Something may have happened meanwhile: the wait timed out, say.
      if (answer === undefined || !lifetime.open || waits.find(message) !== wait) continue;
      // All that say the same are used up by one outcome.
      const same = (each: Message): boolean => each.target === message.target;
      this.take(wait.look === undefined ? [message] : [...this.unread].filter(same), message.at, wait, answer);
    }
  }

  /** Takes an outcome for which no message was left: an attempt that is over may have used it up. */
  private takeOutcome(key: string, outcome: Answer): void {
    const { waits, clock, lifetime } = this.options;
    const wait = waits.open.get(key);
    if (lifetime.open && wait !== undefined) this.take([], clock.now(), wait, outcome);
  }

  private take(messages: readonly Message[], at: number, wait: OpenWait, answer: Answer): void {
    const { waits, codec } = this.options;
    const { name, call, since, details = { name } } = wait;
    const times = { ...details, attempt: 1, startedAt: since, endedAt: at };
    // The message stays, for when the run is resumed.
    if (!answer.ok && "refusal" in answer) return this.options.lifetime.refuse(answer.refusal);
    for (const message of messages) this.unread.delete(message);
    if (!answer.ok) {
      const value = codec.encode(answer.issues);
      return this.options.take({ call, details: { ...times, state: "refused", value }, outcome: undefined, messages });
    }
    waits.close(call.key);
    const outcome = { state: answer.failed ? "failed" : "done", value: answer.value } as const;
    this.options.take({ call, details: { ...times, ...outcome }, outcome, messages });
  }
}

function read({ value }: Message, wait: OpenWait): CheckedAnswer | Promise<CheckedAnswer> {
  return wait.accept === undefined ? { ok: true, value } : check(value, wait);
}

/**
 * What an open wait that checks its answers makes of one.
 *
 * @param given the encoded value
 */
export async function check(given: string, wait: OpenWait): Promise<CheckedAnswer> {
  try {
    return await outsideRuns(() => wait.accept!(given));
  } catch (error) {
    return { ok: false, issues: [`The check failed: ${wordsOf(error)}`] };
  }
}

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
import { Mail } from "./mail.js";
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

/** What has been read of an inbox. */
interface Read {
  /** When all of it is taken that can be. */
  taken: Promise<void>;
}

export class Inbox {
  /** How many readings are under way. */
  private readings = 0;
  private readonly mail = new Mail();
  /** Keys of waits that have been opened since the store was last asked. */
  private readonly opened = new Set<string>();
  /** While the store is being asked; and what all wait for who have come meanwhile, since it may have missed what they mean. */
  private asking: Promise<Read> | undefined;
  private next: Promise<Read> | undefined;

  constructor(private readonly options: InboxOptions) {}

  get isBeingRead(): boolean {
    return this.readings > 0;
  }

  /**
   * Takes what is new in the inbox for the waits that are open, and looks whether the run is to be cancelled.
   *
   * @param key of a wait that has been opened: what came before is for it as well, and its outcome may be there without a message
   */
  async read(key?: string): Promise<void> {
    const { waits, lifetime } = this.options;
    if (!lifetime.open) return;
    this.readings++;
    try {
      const outcome = key === undefined ? undefined : await waits.open.get(key)?.look?.();
      if (key !== undefined) this.opened.add(key);
      await (await this.ask()).taken;
      if (key !== undefined && outcome !== undefined) this.takeOutcome(key, outcome);
    } catch (error) {
      // A message that cannot be read is there when that is mended, and so is what it told of.
      if (isUnreadable(error)) lifetime.refuse(error);
      else lifetime.breakOff(error);
    } finally {
      this.readings--;
      this.options.onRead();
    }
  }

  private ask(): Promise<Read> {
    if (this.asking === undefined) {
      this.asking = this.askStore().finally(() => {
        this.asking = undefined;
      });
      return this.asking;
    }
    this.next ??= this.asking
      .catch(() => {})
      .then(() => {
        this.next = undefined;
        return this.ask();
      });
    return this.next;
  }

  private async askStore(): Promise<Read> {
    const { id, store } = this.options;
    const fresh = this.mail.add(await store.inbox(id, this.mail.last));
    // The inbox was read across a pause of this code: only now is it certain which waits are open.
    const opened = [...this.opened];
    this.opened.clear();
    return { taken: this.take(opened, fresh) };
  }

  private async take(opened: readonly string[], fresh: readonly Message[]): Promise<void> {
    const { waits, onCancelRequest } = this.options;
    if (this.mail.asksForCancellation) return onCancelRequest?.();
    for (const key of opened) {
      const wait = waits.open.get(key);
      if (wait !== undefined) await this.serve(wait);
    }
    for (const message of fresh) {
      while (this.mail.holds(message)) {
        const wait = this.waitFor(message);
        if (wait === undefined) break;
        // What came for it before goes before.
        await this.serve(wait);
        if (waits.open.get(wait.call.key) === wait) break;
      }
    }
  }

  /** The open wait that a message is for, if there is one. */
  private waitFor(message: Message): OpenWait | undefined {
    const { waits, clock, lifetime } = this.options;
    if (!lifetime.open) return undefined;
    const wait = waits.find(message);
    // What was there before the question is taken, though the question may have been over as soon as it was asked.
    const wasFirst = wait !== undefined && message.at <= wait.since;
    // Else what fell due before the answer came was first, also if no process was there to see it.
    waits.fireDue(Math.min(message.at, clock.now()), wasFirst ? wait.call.key : undefined);
    return waits.find(message);
  }

  /** Takes messages for a wait, in order of arrival, until it has its outcome. */
  private async serve(wait: OpenWait): Promise<void> {
    const { waits } = this.options;
    const { name, call, look } = wait;
    for (const message of this.mail.toEither(call.key, name)) {
      if (this.waitFor(message) !== wait) continue;
      const answer = look === undefined ? await read(message, wait) : await look();
      // Something may have happened meanwhile: the wait timed out, or another reading of the inbox was faster.
      const isStillSo = this.options.lifetime.open && this.mail.holds(message) && waits.find(message) === wait;
      // All that say the same are used up by one outcome.
      const said = look === undefined ? [message] : [...this.mail.to(message.target)];
      if (answer !== undefined && isStillSo) this.use(said, message.at, wait, answer);
      if (look !== undefined || waits.open.get(call.key) !== wait) return;
    }
  }

  /** Takes an outcome for which no message was left: an attempt that is over may have used it up. */
  private takeOutcome(key: string, outcome: Answer): void {
    const { waits, clock, lifetime } = this.options;
    const wait = waits.open.get(key);
    if (lifetime.open && wait !== undefined) this.use([], clock.now(), wait, outcome);
  }

  private use(messages: readonly Message[], at: number, wait: OpenWait, answer: Answer): void {
    const { waits, codec } = this.options;
    const { name, call, since, details = { name } } = wait;
    const times = { ...details, attempt: 1, startedAt: since, endedAt: at };
    // The message stays, for when the run is resumed.
    if (!answer.ok && "refusal" in answer) return this.options.lifetime.refuse(answer.refusal);
    for (const message of messages) this.mail.use(message);
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

/**
 * The messages to a run that this process has read and no outcome has used. The store is asked for new ones only: a run whose
 * backlog is long, or that opens many waits, would else read all of it again and again.
 */
import type { Message } from "../../stores/store.js";
import { isCancelRequest } from "./cancel-request.js";

export class Mail {
  /** Number of the last message that was read. */
  last = 0;
  /** Whether the run is to be cancelled. */
  asksForCancellation = false;
  /** In order of arrival. */
  private readonly byTarget = new Map<string, Set<Message>>();

  /**
   * Takes in what was read.
   *
   * @returns what of it is new: of two readings at once, both may bring the same
   */
  add(messages: readonly Message[]): Message[] {
    const fresh = messages.filter(({ number }) => number > this.last);
    for (const message of fresh) {
      this.last = message.number;
      if (isCancelRequest(message)) this.asksForCancellation = true;
      else this.targeted(message.target).add(message);
    }
    return fresh;
  }

  holds(message: Message): boolean {
    return this.to(message.target).has(message);
  }

  /** Those to a target, in order of arrival; live, so that none is copied that nobody comes to. */
  to(target: string): ReadonlySet<Message> {
    return this.byTarget.get(target) ?? none;
  }

  /** Those to one of two targets, in order of arrival. */
  *toEither(one: string, other: string): Generator<Message, void> {
    const [ones, others] = [this.to(one).values(), this.to(other).values()];
    let [a, b] = [ones.next().value, others.next().value];
    while (a !== undefined || b !== undefined) {
      if (b === undefined || (a !== undefined && a.number < b.number)) {
        yield a!;
        a = ones.next().value;
      } else {
        yield b;
        b = others.next().value;
      }
    }
  }

  /** A message will not be used again. */
  use(message: Message): void {
    const messages = this.byTarget.get(message.target);
    if (messages?.delete(message) && messages.size === 0) this.byTarget.delete(message.target);
  }

  private targeted(target: string): Set<Message> {
    let messages = this.byTarget.get(target);
    if (messages === undefined) {
      messages = new Set();
      this.byTarget.set(target, messages);
    }
    return messages;
  }
}

const none: ReadonlySet<Message> = new Set();

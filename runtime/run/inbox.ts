/** A run's inbox: which messages its open waits take, and what becomes of them. */
import { wordsOf } from "../journal/careful.js";
import type { Entry } from "../journal/entry.js";
import { outsideRuns } from "../scope/outside.js";
import type { Message } from "../stores/store.js";
import type { Call } from "./call.js";
import type { Execution } from "./execution.js";
import type { Answer, OpenWait } from "./waiting-room.js";

/** How a wait ends, or goes on: an entry, and the message that it uses up. */
export interface Taken {
  call: Call;
  details: Partial<Entry> & Pick<Entry, "state">;
  /** Encoded value that the code receives; undefined if the wait stays open. */
  outcome: { state: "done" | "failed"; value: string } | undefined;
  message: Message;
}

/** Takes what is in the inbox for the waits that are open, in order of arrival. */
export async function takeMessages(execution: Execution, messages: readonly Message[]): Promise<void> {
  const { waits, clock } = execution;
  for (const message of messages) {
    if (!execution.open) return;
    // What fell due before the answer came was first, also if no process was there to see it.
    waits.fireDue(Math.min(message.at, clock.now()));
    const wait = waits.find(message);
    if (wait === undefined) continue;
    const answer = wait.look === undefined ? await read(message, wait) : await wait.look();
    // Something may have happened meanwhile: the wait timed out, or another reading of the inbox was faster.
    if (answer !== undefined && execution.open && waits.find(message) === wait)
      execution.take(taken(execution, message, wait, answer));
  }
}

function read({ value }: Message, wait: OpenWait): Answer | Promise<Answer> {
  return wait.accept === undefined ? { ok: true, value } : check(value, wait);
}

/**
 * What an open wait that checks its answers makes of one.
 *
 * @param given the encoded value
 */
export async function check(given: string, wait: OpenWait): Promise<Answer> {
  try {
    return await outsideRuns(() => wait.accept!(given));
  } catch (error) {
    return { ok: false, issues: [`The check failed: ${wordsOf(error)}`] };
  }
}

function taken({ waits, codec }: Execution, message: Message, wait: OpenWait, answer: Answer): Taken {
  const { name, call, since, details = { name } } = wait;
  const times = { ...details, attempt: 1, startedAt: since, endedAt: message.at };
  waits.use(message);
  if (!answer.ok) {
    const value = codec.encode(answer.issues);
    return { call, details: { ...times, state: "refused", value }, outcome: undefined, message };
  }
  waits.close(call.key);
  const outcome = { state: answer.failed ? "failed" : "done", value: answer.value } as const;
  return { call, details: { ...times, ...outcome }, outcome, message };
}

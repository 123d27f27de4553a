/** A request to cancel a run, of a process that does not drive it: a message that no wait takes. */
import type { Message } from "../../stores/store.js";

/** Names and keys of waits are not empty. */
const target = "";

/** @param at milliseconds since the epoch */
export function cancelRequest(at: number): Omit<Message, "number"> {
  return { target, value: "", at };
}

export function isCancelRequest(message: Message): boolean {
  return message.target === target;
}

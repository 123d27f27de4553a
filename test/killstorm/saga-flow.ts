/** A saga: what was booked is cancelled again, last first, when the payment fails in the end. */
import { step, workflow } from "stepmark";
import { enter } from "./ledger.js";

export const parts = ["flight", "hotel", "car", "tour"];

export const saga = workflow("saga", async () => {
  const undo: Array<() => Promise<void>> = [];
  try {
    // Two at once, then two more: which of them ends first differs from run to run, how they are undone does not.
    for (const pair of [parts.slice(0, 2), parts.slice(2)]) {
      await Promise.all(pair.map((part) => step(book, part)));
      for (const part of pair) undo.push(() => step(cancel, part));
    }
    // More attempts than processes are killed: one of them comes to its end.
    await step({ retries: 7, backoff: 1 }, charge);
    return "paid";
  } catch {
    for (const undoOne of undo.reverse()) await undoOne();
    return "undone";
  }
});

async function book(part: string): Promise<void> {
  await enter(`book ${part}`);
}

async function cancel(part: string): Promise<void> {
  await enter(`cancel ${part}`);
}

async function charge(): Promise<void> {
  await enter("charge");
  throw new Error("the card was declined");
}

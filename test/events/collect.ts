/** What the tests of events read of them. */
import type { RunEvent } from "stepmark";

/** An event in short: the number of an entry's, the type of any other. */
export function short({ seq, type }: RunEvent): number | string {
  return seq ?? type;
}

/** All events until the stream ends. */
export async function all(events: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const found: RunEvent[] = [];
  for await (const event of events) found.push(event);
  return found;
}

/** Reads until an event of that type has come. */
export async function until(events: AsyncIterator<RunEvent>, type: RunEvent["type"]): Promise<RunEvent[]> {
  const found: RunEvent[] = [];
  for (;;) {
    const { value, done } = await events.next();
    if (done) throw new Error(`The events ended without ${type}`);
    found.push(value);
    if (value.type === type) return found;
  }
}

/** An event with all that can be read of it, as plain data. */
export function whole(event: RunEvent): object {
  return { ...event, value: event.value, error: event.error };
}

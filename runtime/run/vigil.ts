/** Bodies that never end, such as one that waits for the promise of its own step: nobody can tell before the process is at its end. */
import type { Call } from "./call.js";
import type { JournalWriter } from "./journal-writer.js";
import type { LiveCalls } from "./live/live-calls.js";
import type { WaitingRoom } from "./live/waiting-room.js";
import { whenNothingIsLeft } from "./process-end.js";

export interface VigilOptions {
  calls: LiveCalls;
  waits: WaitingRoom;
  journal: JournalWriter;
  /** Told of bodies that cannot end, since the process has nothing left to do: at least one. */
  onEndless(bodies: readonly Call[]): void;
}

/** @returns the way to end the vigil */
export function keepVigil({ calls, waits, journal, onEndless }: VigilOptions): () => void {
  return whenNothingIsLeft(() => {
    const bodies = [...calls.inFlight.values()];
    // An answer could come from elsewhere; what bodies wait for cannot.
    const mayGoOn = waits.open.size + waits.timers > 0 || !journal.isSettled;
    if (bodies.length > 0 && !mayGoOn) onEndless(bodies);
  });
}

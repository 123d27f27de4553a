/** The calls of a run that the record does not answer, from the moment they are asked for until their outcome is delivered. */
import type { StepExtent } from "../../scope/place.js";
import type { Call } from "../call.js";
import type { Outcome } from "./outcome.js";

/** A durable outcome that waits for its turn. */
export interface Ready {
  call: Call;
  outcome: Outcome;
}

export class LiveCalls {
  /** Those that have not started, in the order in which they were asked for. */
  wanted: Call[] = [];
  /** Those whose bodies run, by key. */
  readonly inFlight = new Map<string, Call>();
  /** In journal order. */
  readonly ready: Ready[] = [];

  /** Takes all that have not started. */
  takeWanted(): Call[] {
    const calls = this.wanted;
    this.wanted = [];
    return calls;
  }

  /** What has not started of the body of an attempt that is over does not start any more. */
  dropThoseOver(): void {
    this.wanted = this.wanted.filter(({ within }) => within?.over !== true);
  }

  /** After the workflow has failed nothing new starts, but for what bodies in flight need. */
  dropAllButThoseOfBodies(): void {
    this.wanted = this.wanted.filter(({ kind, within }) => kind === "changed" || this.isInFlight(within));
  }

  isInFlight(within: StepExtent | null): boolean {
    return within !== null && this.inFlight.has(within.key);
  }

  /** Whether each body in flight, or a body inside it, has one of `waiting` to wait for. */
  allWaitFor(waiting: Iterable<{ within: StepExtent | null }>): boolean {
    const held = new Set<string>();
    for (const call of waiting) {
      let { within } = call;
      while (within !== null && !held.has(within.key)) {
        held.add(within.key);
        within = this.inFlight.get(within.key)?.within ?? null;
      }
    }
    for (const key of this.inFlight.keys()) if (!held.has(key)) return false;
    return true;
  }
}

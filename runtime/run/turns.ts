/**
 * When a run's turns come. Each is a macrotask of its own, so that all microtasks of one have run before the next. Several
 * are laid on at once: all of them pass in one round of the event loop.
 */
import { setImmediate } from "node:timers";
import { outsideRuns } from "../scope/outside.js";

/** How many turns are laid on at once. A live step takes two: one to begin its body, one to deliver its outcome. */
const liveTurns = 2;
/** A recorded one takes one. */
const replayTurns = 16;

export class Turns {
  /** Whether there is to be a turn. */
  private due = false;
  /** How many macrotasks are laid on. */
  private laidOn = 0;

  /** @param isReplaying whether recorded outcomes are in line */
  constructor(
    private readonly turn: () => void,
    private readonly isReplaying: () => boolean,
  ) {}

  get areDue(): boolean {
    return this.due;
  }

  /** There is something to do. */
  call(): void {
    this.due = true;
    this.layOn();
  }

  /** Sees to it that turns can come soon: there may be something to do by then. */
  layOn(): void {
    if (this.laidOn === 0) outsideRuns(this.setAll);
  }

  private readonly setAll = (): void => {
    this.laidOn = this.isReplaying() ? replayTurns : liveTurns;
    for (let i = 0; i < this.laidOn; i++) setImmediate(this.take);
  };

  private readonly take = (): void => {
    this.laidOn--;
    if (!this.due) return;
    this.due = false;
    this.turn();
  };
}

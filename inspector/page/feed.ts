/** One run as it is followed: its model, and how it stands. Connects again by itself. */
import type { RunBrief } from "../wire.js";
import { api, Refusal } from "./api.js";
import { Model } from "./model.js";

/** Before the next try to connect, in milliseconds. */
const pause = 1_000;

export class Feed {
  readonly model = new Model();
  brief: RunBrief | undefined;
  /** All that there was is here. */
  caughtUp = false;
  /** Why nothing new comes. */
  problem: Refusal | undefined;
  private readonly listeners = new Set<() => void>();
  private controller: AbortController | undefined;
  private announced = false;

  constructor(readonly id: string) {}

  /** @returns the way to stop listening */
  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  start(): void {
    if (this.controller !== undefined) return;
    this.controller = new AbortController();
    void this.follow(this.controller.signal);
  }

  stop(): void {
    this.controller?.abort();
    this.controller = undefined;
  }

  private async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        for await (const { run, sites = [], rows, caughtUp } of api.follow(this.id, this.model.lastSeq, signal)) {
          if (run !== undefined) this.brief = run;
          if (rows !== undefined) this.model.append(rows, sites);
          if (caughtUp) this.caughtUp = true;
          this.problem = undefined;
          this.announce();
        }
      } catch (error) {
        if (signal.aborted) return;
        this.problem = error instanceof Refusal ? error : new Refusal(0, "GONE", "The connection broke off.");
        this.announce();
        if (this.problem.status >= 400 && this.problem.status < 500) return;
      }
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  /** Once a frame at most. */
  private announce(): void {
    if (this.announced) return;
    this.announced = true;
    const tell = (): void => {
      this.announced = false;
      for (const listener of this.listeners) listener();
    };
    if (document.hidden) setTimeout(tell, 100);
    else requestAnimationFrame(tell);
  }
}

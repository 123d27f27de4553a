/** A process's death, within one process: a body that stops for good, and the store as the crash left it. */
import type { MemoryStore, Run } from "stepmark";
import { underWay } from "./under-way.js";

export class Kill {
  /** Resolves when a body has reached the place of death. */
  readonly reached: Promise<void>;
  private reach!: () => void;
  private spent = false;

  constructor() {
    this.reached = new Promise((resolve) => {
      this.reach = resolve;
    });
  }

  /** The place of death: never returns the first time, does nothing later. */
  async here(): Promise<void> {
    if (this.spent) return;
    this.spent = true;
    this.reach();
    await new Promise(() => {});
  }
}

/** Starts a run, lets it die at `kill`, and returns the store as it was then. */
export async function die(store: MemoryStore, kill: Kill, run: Promise<Run<unknown>>): Promise<MemoryStore> {
  const { id } = await run;
  await kill.reached;
  await rest();
  return store.fork(id);
}

/** Lets everything that can happen without outside events happen. */
export async function rest(): Promise<void> {
  for (let i = 0; i < 20; i++) {
    await new Promise((resolve) => setImmediate(resolve));
    if (!underWay.any) continue;
    await underWay.over();
    i = 0;
  }
}

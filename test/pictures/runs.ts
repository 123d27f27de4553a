/** The runs that the pictures show: one that dies in its midst, and what the next process makes of it. */
import { type Entry, memoryStore, Stepmark } from "stepmark";
import { type Happening, play, Stage } from "./bodies.js";
import { fulfil } from "./flow.js";

export interface Told {
  /** What the first process recorded. */
  readonly recorded: readonly Entry[];
  readonly first: readonly Happening[];
  readonly second: readonly Happening[];
  /** The journal at the end. */
  readonly entries: readonly Entry[];
}

export async function tell(): Promise<Told> {
  const store = memoryStore();
  const stages = [new Stage(), new Stage()] as const;
  const [first, second] = stages;

  play(first);
  const dying = new Stepmark({ store, workflows: [fulfil] });
  await dying.start(fulfil, ["tea", "cup"], { id: "order-17" });
  // The second branch overtakes the first one, and is overtaken again before the process dies.
  await first.begun("fulfil/map()/reserve");
  await first.end("fulfil/map()[1]/reserve");
  await first.begun("fulfil/map()[1]/getQuote");
  await first.end("fulfil/map()/reserve");
  await first.end("fulfil/map()/getQuote");
  const left = store.fork("order-17");
  const recorded = await left.entries("order-17");

  play(second);
  const app = new Stepmark({ store: left, workflows: [fulfil] });
  const run = await app.resume("order-17");
  await second.end("fulfil/map()[1]/getQuote");
  await second.end("fulfil/book");
  await second.end("fulfil/book@1");
  await run.result();
  const entries = await left.entries("order-17");
  await app.shutdown();
  await dying.shutdown();
  return { recorded, first: first.log, second: second.log, entries };
}

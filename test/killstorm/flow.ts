/** The workflow of the storm: concurrency, nested steps, loops, a shared queue, a race, retries and a timer. */
import { sleep, step, stepContext, workflow } from "stepmark";
import { type Value, work } from "../storm/ledger.js";

/** What came of it: the value of each step, by its label. */
export type Result = Record<string, Value>;

export const flow = workflow("storm", async (): Promise<Result> => {
  const result: Result = {};
  /** Notes a value, which must be the one of the call that it was awaited for. */
  const keep = (label: string, value: Value): Value => {
    if (value.label !== label) throw new Error(`${label} got the value of ${value.label}`);
    result[label] = value;
    return value;
  };
  const one = async (label: string): Promise<Value> => keep(label, await step(work, label));

  for (let round = 0; round < 2; round++) {
    await Promise.all(
      ["a", "b", "c"].map(async (item) => {
        const at = `${round}${item}`;
        await one(`${at}/first`);
        const inner = await step(async () => Promise.all([step(work, `${at}/inner0`), step(work, `${at}/inner1`)]));
        inner.forEach((value, index) => {
          keep(`${at}/inner${index}`, value);
        });
        await one(`${at}/last`);
      }),
    );
  }

  const jobs = ["j0", "j1", "j2", "j3", "j4"];
  const worker = async (): Promise<void> => {
    for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) await one(job);
  };
  await Promise.all([worker(), worker()]);

  await Promise.all([sleep(5), one("beside the timer")]);
  const racers = ["r0", "r1", "r2"].map((label) => step(work, label));
  const winner = await Promise.race(racers);
  result.winner = winner;
  for (const [index, racer] of racers.entries()) keep(`r${index}`, await racer);

  keep("tried", await step({ retries: 50, backoff: 1 }, flaky, "tried"));
  const walk = async (label: string, depth: number): Promise<void> => {
    await one(label);
    if (depth > 0) await Promise.all(["x", "y"].map((side) => walk(label + side, depth - 1)));
  };
  await walk("w", 2);
  return result;
});

async function flaky(label: string): Promise<Value> {
  if (stepContext().attempt === 1) throw new Error("not yet");
  return work(label);
}

/** The workflow of the storm: `steps` steps, one and then four at once, over and over. */
import { step, workflow } from "stepmark";
import { labelOf, note, type Value, work } from "./ledger.js";

export interface Input {
  run: string;
  steps: number;
}

/** So many steps are under way at once, after one that is alone. */
const width = 4;

export const flow = workflow("storm", async ({ run, steps }: Input): Promise<Value[]> => {
  const values: Value[] = [];
  const one = async (index: number): Promise<void> => {
    const label = labelOf(run, index);
    const value = await step(work, label);
    // Whoever gets here has seen the step complete.
    note({ type: "seen", label, draw: value.draw });
    if (value.label !== label) note({ type: "wrong", label, draw: value.draw });
    values[index] = value;
  };
  for (let index = 0; index < steps; ) {
    await one(index++);
    const wide = Array.from({ length: Math.min(width, steps - index) }, (_, offset) => index + offset);
    await Promise.all(wide.map((each) => one(each)));
    index += wide.length;
  }
  return values;
});

/** A lock file that is begun, or deleted, while the code stays as it is. */
import { expect, it } from "vitest";
import { before } from "../edits/case.js";
import { type Project, readFlows } from "../edits/project.js";
import { type Recording, resume } from "../edits/run.js";

/** Calls that are so far from the workflow that a record holds but a digest of the way. */
const deep: Project = {
  main: "flow.ts",
  files: new Map([
    [
      "flow.ts",
      `import { step, workflow } from "stepmark";
       import { done } from "./bodies.js";
       const charge = async (n: number) => done("charge", n);
       const pay = async (n: number, deep = 0): Promise<any> => (deep > 0 ? pay(n, deep - 1) : step(charge, n));
       export const w = workflow("w", async () => [await pay(1), await pay(2, 40), await pay(3, 40)]);
       export const input = undefined;`,
    ],
  ]),
};
const flows = readFlows().filter(({ name }) => ["claim", "lottery", "transfer"].includes(name));

it.each([["deep", deep] as const, ...flows.map((flow) => [flow.name, flow] as const)])(
  "changes nothing for runs in flight: %s",
  async (_, project) => {
    const { plain, locked } = await before(project);
    const executions = ({ asks }: Recording): number => asks.reduce((sum, ask) => sum + ask.executions, 0);
    for (const [then, now] of [
      [plain, locked],
      [locked, plain],
    ] as const) {
      const { entries, store } = then.run;
      for (const kept of [1, entries.length - 1, entries.length]) {
        const after = await resume(now.program, store, kept);
        expect(after.error).toBe(then.run.error);
        expect(executions(after)).toBeLessThanOrEqual(executions(then.run) - (kept === 1 ? 1 : kept - 1));
        expect(after.orphans).toEqual([]);
      }
    }
  },
);

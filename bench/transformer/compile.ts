/** What the plugin adds to a build: `tspc` on a generated project, with the plugin and without. */
import { benchProject, type Comparison, compare } from "./project.js";

/** @param root folder of the project that the library is built in */
export function compileCost(root: string, rounds: number): Comparison {
  const project = benchProject(root, {
    "tsconfig.json": [{ transform: "stepmark/transformer" }],
    "tsconfig.plain.json": [],
  });
  const cost = compare(
    rounds,
    () => project.tspc("tsconfig.plain.json"),
    () => project.tspc("tsconfig.json"),
  );
  project.remove();
  return cost;
}

import type { Contender } from "../contender.js";

export const effect: Contender = {
  name: "effect",
  title: "Effect Workflow",
  packages: ["@effect/workflow", "@effect/cluster", "effect"],
  store: "SQLite",
  durability: {
    power: "PRAGMA synchronous=FULL through its SQL client",
    process: "PRAGMA synchronous=NORMAL through its SQL client",
  },
  cannot: {},
  notes: [
    "`ClusterWorkflowEngine` on `SingleRunner` with runner storage in memory, so that a new process need not wait for the locks of the one that died; all else as it comes.",
  ],
  identity: "activity name, made unique by hand",
  speed: async () => (await import("./speed.js")).open,
  correctness: async () => (await import("./correctness.js")).open,
};

import type { Contender } from "../contender.js";

const openworkflow = {
  packages: ["openworkflow"],
  store: "SQLite" as const,
  node: 22 as const,
  durability: {
    power: "PRAGMA synchronous=FULL through its private database handle",
    process: "PRAGMA synchronous=NORMAL through its private database handle",
  },
  cannot: {},
  polls: true as const,
  most: { steps: 1_000, because: "it allows no more" },
  lease: 30_000,
  notes: [
    "Its SQLite is `node:sqlite`, so it runs on Node 22.",
    "A worker holds a run for 30 seconds, which cannot be set: that long a crashed run waits before another goes on with it.",
  ],
};

export const openWorkflow: Contender = {
  ...openworkflow,
  name: "openworkflow",
  title: "OpenWorkflow",
  identity: "step name, and how often it has been used so far",
  speed: async () => (await import("./speed.js")).open,
  correctness: async () => (await import("./correctness.js")).openPlain,
};

/** Only tried, not timed: what a name costs is not time. */
export const openWorkflowNamed: Contender = {
  ...openworkflow,
  name: "openworkflow-named",
  title: "OpenWorkflow, a name by hand for each call",
  identity: "step name, made unique by hand",
  correctness: async () => (await import("./correctness.js")).openNamed,
};

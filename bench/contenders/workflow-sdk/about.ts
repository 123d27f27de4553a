import type { Contender } from "../contender.js";

export const workflowSdk: Contender = {
  name: "workflow-sdk",
  title: "Workflow SDK",
  packages: ["workflow", "@workflow/world-local"],
  store: "files",
  durability: { power: null, process: "as it comes: its local world writes files and never calls `fsync`" },
  cannot: { nested: "a step inside a step is not recorded" },
  polls: true,
  notes: [],
  identity: "how many steps came before it in the run; the step's name is compared",
  prepare: async () => (await import("./build.js")).buildAll(),
  speed: async () => (await import("./speed.js")).open,
  correctness: async () => (await import("./correctness.js")).open,
};

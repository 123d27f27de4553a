import type { Contender } from "../contender.js";

export const workflowSdk: Contender = {
  name: "workflow-sdk",
  title: "Workflow SDK",
  packages: ["workflow", "@workflow/world-local"],
  store: "files",
  durability: { power: null, process: "as it comes: its local world writes files and never calls `fsync`" },
  cannot: { nested: "a step inside a step is not recorded" },
  polls: true,
  most: {
    steps: 50,
    waiting: 100,
    because: "each step replays all that came before it, and each wait reads the files of all others",
  },
  notes: [
    "Its own builder's bundles behind an HTTP server of the process, to which its local world posts each step and each replay. Its sandbox is entered and left with the request.",
  ],
  identity: "how many calls came before it, replayed in the order of the record; the step's name is compared",
  prepare: async () => (await import("./build.js")).buildAll(),
  speed: async () => (await import("./speed.js")).open,
  correctness: async () => (await import("./correctness.js")).open,
};

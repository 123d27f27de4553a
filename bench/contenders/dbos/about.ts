import type { Contender } from "../contender.js";

const transact = {
  packages: ["@dbos-inc/dbos-sdk"],
  store: "Postgres" as const,
  durability: { power: "synchronous_commit=on", process: "synchronous_commit=off" },
  cannot: { nested: "a step inside a step is not recorded" },
};

export const dbos: Contender = {
  ...transact,
  name: "dbos",
  title: "DBOS Transact",
  identity: "how many steps came before it in the run; the step's name is compared",
  speed: async () => (await import("./speed.js")).open,
  correctness: async () => (await import("./correctness.js")).openPlain,
};

/** Only tried, not timed. */
export const dbosStarted: Contender = {
  ...transact,
  name: "dbos-started",
  title: "DBOS Transact, a workflow for each branch",
  identity: "how many steps came before it in its branch's workflow; the step's name is compared",
  correctness: async () => (await import("./correctness.js")).openStarted,
};

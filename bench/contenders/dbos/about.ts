import type { Contender } from "../contender.js";

export const dbos: Contender = {
  name: "dbos",
  title: "DBOS Transact",
  packages: ["@dbos-inc/dbos-sdk"],
  store: "Postgres",
  durability: { power: "synchronous_commit=on", process: "synchronous_commit=off" },
  cannot: { nested: "a step inside a step is not recorded" },
  identity: "how many steps came before it in the run; the step's name is compared",
  speed: async () => (await import("./speed.js")).open,
  correctness: async () => (await import("./correctness.js")).open,
};

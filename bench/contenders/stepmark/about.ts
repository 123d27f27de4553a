import type { Contender } from "../contender.js";

const stepmark = {
  packages: ["stepmark"],
  cannot: {},
  identity: "the call's place, by its transformer; no names",
  speed: async () => (await import("./speed.js")).open,
  correctness: async () => (await import("./correctness.js")).open,
};

export const stepmarkSqlite: Contender = {
  ...stepmark,
  name: "stepmark",
  title: "stepmark, SQLite",
  store: "SQLite",
  durability: { power: "synchronous: FULL", process: "synchronous: NORMAL" },
};

export const stepmarkPostgres: Contender = {
  ...stepmark,
  name: "stepmark-postgres",
  title: "stepmark, Postgres",
  store: "Postgres",
  durability: { power: "synchronous: FULL", process: "synchronous: NORMAL" },
};

import type { Contender } from "../contender.js";

const cannot = {
  nested: "has no steps",
  tree: "has no steps",
  large: "has no steps",
  memory: "has no runs",
};

/** The limit: a row a step, committed alone, and read again; no workflow at all. */
export const rawSqlite: Contender = {
  name: "raw-sqlite",
  title: "raw rows, SQLite",
  packages: ["better-sqlite3"],
  store: "SQLite",
  durability: { power: "synchronous=FULL", process: "synchronous=NORMAL" },
  cannot,
  identity: "none",
  speed: async () => (await import("./sqlite.js")).open,
};

export const rawPostgres: Contender = {
  name: "raw-postgres",
  title: "raw rows, Postgres",
  packages: ["pg"],
  store: "Postgres",
  durability: { power: "synchronous_commit=on", process: "synchronous_commit=off" },
  cannot,
  identity: "none",
  speed: async () => (await import("./postgres.js")).open,
};

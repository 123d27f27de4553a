import process from "node:process";
import type { Contender } from "../contender.js";

const absurd = {
  packages: ["absurd-sdk"],
  store: "Postgres" as const,
  durability: { power: "synchronous_commit=on", process: "synchronous_commit=off" },
  cannot: {},
  polls: true as const,
  notes: ["Workers claim tasks for 5 seconds (`claimTimeout`, default 120), so long a crashed run waits."],
  missing: () =>
    process.env.ABSURD_SQL === undefined
      ? "its schema is not in its package: set ABSURD_SQL to the path of sql/absurd.sql from github.com/earendil-works/absurd"
      : undefined,
};

export const absurdPlain: Contender = {
  ...absurd,
  name: "absurd",
  title: "Absurd",
  identity: "step name, and how often it has been used so far",
  speed: async () => (await import("./speed.js")).open,
  correctness: async () => (await import("./correctness.js")).openPlain,
};

/** Only tried, not timed: what a name costs is not time. */
export const absurdNamed: Contender = {
  ...absurd,
  name: "absurd-named",
  title: "Absurd, a name by hand for each call",
  identity: "step name, made unique by hand",
  correctness: async () => (await import("./correctness.js")).openNamed,
};

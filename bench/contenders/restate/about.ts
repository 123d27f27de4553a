import type { Contender } from "../contender.js";
import { serverMissing, startServer } from "./server.js";

export const restate: Contender = {
  name: "restate",
  title: "Restate",
  packages: ["@restatedev/restate-sdk", "@restatedev/restate-server"],
  store: "its own server",
  node: 22,
  durability: {
    power: "as it comes",
    process: "`rocksdb-disable-wal-fsync` of its log server",
  },
  cannot: {},
  notes: [
    "Its SDK needs Node 22. One node of its server on the same machine; workflows are invoked through its HTTP ingress.",
    "A step inside a step is not allowed, and one strand of a handler waits at a time: nested steps, and branches with steps of their own, are handlers that are called, as its documentation has it.",
  ],
  identity: "how many steps came before it in the run; the step's name is compared",
  missing: serverMissing,
  startServer,
  speed: async () => (await import("./speed.js")).open,
  correctness: async () => (await import("./correctness.js")).open,
};

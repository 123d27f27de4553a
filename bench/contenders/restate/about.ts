import type { Contender } from "../contender.js";
import { serverMissing, startServer } from "./server.js";

const nested = "a step inside a step is not allowed";

/** Its SDK says "awaitNext already pending", and tries again for ever. */
const strands =
  "only one strand of a handler can await at a time: branches with steps of their own are handlers of their own";

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
  cannot: { nested, tree: strands },
  unwritable: { A1: nested, B1: strands, B2: strands, B4: strands, B6: strands },
  notes: [
    "Its SDK needs Node 22. One node of its server on the same machine; workflows are invoked through its HTTP ingress.",
  ],
  identity: "how many steps came before it in the run; the step's name is compared",
  missing: serverMissing,
  startServer,
  speed: async () => (await import("./speed.js")).open,
  correctness: async () => (await import("./correctness.js")).open,
};

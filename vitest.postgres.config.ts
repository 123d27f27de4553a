/** Tests of the Postgres store, and tests of the library with Postgres for every store: `npm run test:postgres`. */
import { fileURLToPath } from "node:url";
import base from "./vitest.config.js";

const standIn = fileURLToPath(new URL("./test/postgres/stand-in.ts", import.meta.url));

/** Not of a store's making, and slow or another matter here. */
const leftOut = [
  // Thousands of copies of a store, to replay from: what they find out does not depend on it.
  "^B4-B9: any completion order",
  "^scopes ",
  // Two apps hear of one answer; which of them is faster is for nobody to say.
  "^a run that waits is followed when another process goes on with it$",
  "^events of a run that another process drives a process that gave the run up while it waits notices",
];

export default {
  ...base,
  resolve: {
    alias: [
      { find: /^\.\/stores\/memory\.js$/, replacement: standIn },
      { find: /^stepmark\/sqlite$/, replacement: standIn },
      ...(base.resolve!.alias as object[]),
    ],
  },
  test: {
    ...base.test,
    include: [
      "test/{postgres,work}/**/*.test.ts",
      "test/{scenarios,cases,rules,people}/*.test.ts",
      "test/events/elsewhere.test.ts",
      "test/adversarial/lifecycle.test.ts",
      "test/adversarial/endings.test.ts",
    ],
    exclude: [],
    testNamePattern: new RegExp(`^(?!${leftOut.join("|").replaceAll("^", "")})`),
    testTimeout: 60_000,
  },
};

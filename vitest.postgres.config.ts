/** Tests of the Postgres store, and tests of the library with Postgres for every store: `npm run test:postgres`. */
import { fileURLToPath } from "node:url";
import base from "./vitest.config.js";

const standIn = fileURLToPath(new URL("./test/postgres/stand-in.ts", import.meta.url));

/** Not of a store's making, and slow or another matter here. */
const leftOut = [
  // Thousands of copies of a store, to replay from: what they find out does not depend on it.
  "^B4-B9: any completion order",
  "^scopes ",
  // So many runs, one after the other, that it is a matter of minutes on a busy machine.
  "^a run that waits one thousand of them that somebody waits for",
  // Two apps hear of one answer; which of them is faster is for nobody to say.
  "^a run that waits is followed when another process goes on with it$",
  "^events of a run that another process drives tell once that the run waits, and go on",
  "^events of a run that another process drives a process that gave the run up while it waits notices",
  // Between two microtasks of a store that has none to wait for.
  "^an app that ends while it takes a run up a cancellation that comes while a run is taken up",
  "^an app that ends while it takes a run up a run that was cancelled between two looks",
  // There the run may well have come to its second question before the second answer looks for one, and it is right then.
  "^waits of two answers given at once, one is refused, also when the same question is asked again$",
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
      "test/storm/storm.test.ts",
      "test/{scenarios,cases,rules,people,killstorm}/*.test.ts",
      "test/events/elsewhere.test.ts",
      "test/adversarial/lifecycle.test.ts",
      "test/adversarial/endings.test.ts",
    ],
    exclude: [
      // What edits of the code do to a record, whoever keeps it.
      "test/cases/edits.test.ts",
      // Processes that die within this one, between two microtasks; "processes" really kills them.
      "test/people/crashes.test.ts",
      // Counts what is under way at once, which there is for the server's connections to say.
      "test/people/recover-many.test.ts",
      // Moves time on as soon as the runtime has nothing to do, a server's answers notwithstanding.
      "test/people/fake-clock.test.ts",
    ],
    testNamePattern: new RegExp(`^(?!${leftOut.join("|").replaceAll("^", "")})`),
    // They wait for the server more than they work.
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
};

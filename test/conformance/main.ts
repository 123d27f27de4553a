/**
 * `npm run conformance -- --suite PATH`: runs ECMAScript's conformance suite with every function, loop and call
 * instrumented. PATH is a checkout of test262; nothing of it is part of this project. A program counts if it passes on
 * this Node as it stands: then it has to pass transformed as well, by either applier, in a run and outside any.
 */
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { bundleRuntime } from "./bundle.js";
import { exceptions } from "./exceptions.js";
import { printReport } from "./report.js";
import { listTests } from "./suite.js";
import { runAll } from "./workers.js";

const { values } = parseArgs({
  options: {
    suite: { type: "string" },
    /** Folders under the suite's `test`, separated by commas. */
    in: { type: "string", default: "language,annexB/language" },
    /** Only paths that hold this text. */
    only: { type: "string", default: "" },
    /** Only every Nth file. */
    every: { type: "string", default: "1" },
    /** Run each test in one variant only, that with most to instrument. */
    quick: { type: "boolean", default: false },
    workers: { type: "string", default: String(Math.max(1, availableParallelism())) },
    /** How many differences are shown in full. */
    most: { type: "string", default: "20" },
  },
});
if (values.suite === undefined) {
  console.error("Which suite? `npm run conformance -- --suite PATH`, PATH being a checkout of test262.");
  process.exit(2);
}
const files = listTests(values.suite, values.in.split(","), values.only).filter(
  (_, index) => index % Number(values.every) === 0,
);
const started = performance.now();
const results = await runAll(files, {
  suite: values.suite,
  quick: values.quick,
  runtime: await bundleRuntime(),
  worker: join(dirname(process.argv[1]!), "worker.js"),
  count: Number(values.workers),
});
const failed = printReport(results, exceptions, {
  most: Number(values.most),
  milliseconds: performance.now() - started,
});
process.exit(failed ? 1 : 0);

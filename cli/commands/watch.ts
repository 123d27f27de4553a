/** `stepmark watch`: a run's events as they come, whoever drives it. */
import process from "node:process";
import { Stepmark } from "../../runtime/app/stepmark.js";
import type { Store } from "../../runtime/stores/store.js";
import { command, type Output, UsageError } from "../command.js";
import { codeOfRun, exitCode } from "../exit-code.js";
import { follow, followOptions } from "../follow.js";
import { driverOf, isLeftBehind, readRun } from "../run-state.js";
import { existingStore, storeOption, using } from "../run-store.js";
import { quoted } from "../words.js";
import { wholeNumber } from "./runs.js";

/** How often it is looked whether somebody drives the run, in milliseconds. */
const lookInterval = 2_000;

export const watch = command({
  usage: ["watch RUN [--after N] [--values] [--json]"],
  about: `Prints the events of a run, those that were recorded first, then those to come, until the run ends; whichever process drives
it, it is not disturbed. In a terminal a line below shows that something goes on.`,
  arguments: { RUN: "the run's id" },
  options: {
    ...storeOption,
    after: { type: "string", value: "N", default: "0", help: "only events after this number" },
    ...followOptions,
  },
  ends: "Ends with 0 if the run has completed, 1 if it has failed, 4 if it was cancelled.",
  async run({ values, positionals }, output) {
    const [id, ...more] = positionals;
    if (id === undefined || more.length > 0) throw new UsageError("one run has to be named");
    const after = wholeNumber(values.after, "--after");
    return using(existingStore(values.store), async (store) => {
      await readRun(store, id);
      const app = new Stepmark({ store });
      const stop = (): never => process.exit(exitCode.interrupted);
      process.once("SIGINT", stop);
      // Also what keeps this process alive while the run waits.
      const looking = setInterval(() => void look(), lookInterval);
      const look = tellOfOwner(store, id, output);
      try {
        await look();
        const options = { values: values.values, json: values.json, id, untilWaiting: false };
        return codeOfRun(await follow(app.events(id, { after }), options, output));
      } finally {
        clearInterval(looking);
        process.removeListener("SIGINT", stop);
        await app.shutdown();
      }
    });
  },
});

/** Says so, once each time, when nobody drives a run that has not ended. */
function tellOfOwner(store: Store, id: string, { warn }: Output): () => Promise<void> {
  let told = false;
  return async () => {
    const run = await store.read(id).catch(() => undefined);
    if (run === undefined) return;
    const driver = driverOf(run);
    const leftBehind = isLeftBehind(run, driver);
    if (leftBehind && !told) {
      const who =
        driver === undefined ? "Nobody drives this run" : `Nobody drives this run: its process ${driver.pid} has ended`;
      warn(`${who}. \`stepmark resume ${quoted(id)} --workflows MODULE\` goes on with it.`);
    }
    told = leftBehind;
  };
}

/** `stepmark events`: what has happened in a run so far. */
import { endEvent, entryEvent, startEvent } from "../../runtime/app/events.js";
import { shownEvent } from "../../runtime/http/shown.js";
import { command, UsageError } from "../command.js";
import { eventText } from "../event-text.js";
import { cut } from "../look.js";
import { plainCodec, readRun } from "../run-state.js";
import { existingStore, storeOption, using } from "../run-store.js";
import { wholeNumber } from "./runs.js";

export const events = command({
  usage: ["events RUN [--after N] [--values] [--json]"],
  about: `Prints the events of a run that its journal holds, one a line: when, its number, what happened, the replay key of the call,
where that stands, and how long it took. \`stepmark watch\` goes on with those to come.`,
  arguments: { RUN: "the run's id" },
  options: {
    ...storeOption,
    after: { type: "string", value: "N", default: "0", help: "only those after this number" },
    values: { type: "boolean", help: "with results, payloads and answers" },
    json: { type: "boolean", help: "each as a line of JSON, with its values" },
  },
  async run({ values, positionals }, { print, look }) {
    const [id, ...more] = positionals;
    if (id === undefined || more.length > 0) throw new UsageError("one run has to be named");
    const after = wholeNumber(values.after, "--after");
    return using(existingStore(values.store), async (store) => {
      const { run, entries } = await readRun(store, id);
      const end = endEvent(run, plainCodec);
      const all = [
        ...(after === 0 ? [startEvent(run)] : []),
        ...entries.filter(({ seq }) => seq > after).map((entry) => entryEvent(id, entry, plainCodec)),
        ...(end === undefined ? [] : [end]),
      ];
      for (const event of all) {
        if (values.json) print(JSON.stringify(shownEvent(event)));
        else print(cut(eventText(event, { values: values.values === true, look }), look.width));
      }
      return 0;
    });
  },
});

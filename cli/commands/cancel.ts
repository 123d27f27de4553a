/** `stepmark cancel`: ends a run for good. */
import { Stepmark } from "../../runtime/app/stepmark.js";
import { command, UsageError } from "../command.js";
import { exitCode } from "../exit-code.js";
import { existingStore, storeOption, using } from "../run-store.js";
import { counted, visible } from "../words.js";

export const cancel = command({
  usage: ["cancel RUN..."],
  about: `Ends runs for good, and with them their child runs; a run that was cancelled cannot be resumed. One that a living process
drives is ended there: the command waits until that process has noticed, as long as 10 seconds by default.`,
  arguments: { RUN: "ids of runs" },
  options: { ...storeOption },
  ends: "Ends with 1 if a run had completed or failed before.",
  async run({ values, positionals }, { print, warn }) {
    if (positionals.length === 0) throw new UsageError("a run has to be named");
    return using(existingStore(values.store), async (store) => {
      const app = new Stepmark({ store });
      let code: number = exitCode.ok;
      try {
        for (const id of positionals) {
          const { status } = await app.get(id);
          if (status === "completed" || status === "failed") {
            warn(`${visible(id)} is ${status}: there is nothing to cancel.`);
            code = exitCode.wrong;
            continue;
          }
          await app.cancel(id);
          const { children } = await app.get(id);
          const more =
            children.length === 0 ? "" : `, and ${counted(children.length, "child run")} as far as still open`;
          print(status === "cancelled" ? `${visible(id)}  was cancelled before` : `${visible(id)}  cancelled${more}`);
        }
      } finally {
        await app.shutdown();
      }
      return code;
    });
  },
});

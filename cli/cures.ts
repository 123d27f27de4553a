/** What helps on the command line, where an error tells what helps in code. */
import { fieldOf, isA } from "../runtime/journal/careful.js";
import { quoted } from "./words.js";

const again = (id: string, options = ""): string => `\`stepmark resume ${id} --workflows MODULE${options}\``;

const whatAnEditDid = "`stepmark diff REVISION` says what an edit did to runs in flight.";
const renamed =
  "Where calls were renamed or moved, `stepmark accept` on the code that recorded the run, and then on this code, keeps their record (docs/lock-file.md).";

const cures: Readonly<Record<string, (id: string) => string>> = {
  RUN_NOT_FOUND: () => "`stepmark runs` lists the runs of this store; --store names another one.",
  RUN_OWNED: (id) => `\`stepmark watch ${id}\` follows it.`,
  UNKNOWN_WORKFLOW: () => "--workflows has to name the built module that exports it.",
  NOT_TRANSFORMED: () =>
    "`stepmark doctor` looks at how this project is built, `stepmark doctor --build FOLDER` at what came of it.",
  REPLAY_MISMATCH: (id) =>
    `\`stepmark ui\` shows both sides beside each other. If the code was edited on purpose, ${again(id, " --accept edits")} goes on; ${whatAnEditDid}`,
  RETIRED_SITE: (id) =>
    `${renamed} ${again(id, " --accept edits")} goes on without the record of what is gone; ${whatAnEditDid}`,
  AMBIGUOUS_SITE: () => `${renamed} Of two calls that look alike it asks which is which; ${whatAnEditDid}`,
  DIVERGENCE: (id) =>
    `\`stepmark show ${id}\` tells what is recorded; ${again(id, " --divergence continue")} goes on regardless.`,
  ANSWER: (id) => `\`stepmark show ${id}\` lists the open waits.`,
  ATTEMPTS_USED_UP: (id) => `\`stepmark retry ${id} --workflows MODULE\` tries again from the first attempt.`,
  SHUTDOWN: (id) => `${again(id)} goes on.`,
  STORE: () => "`stepmark doctor --store FILE` looks at the store.",
};

/** @returns undefined where the error's own cure is all there is */
export function cureFor(error: unknown, runId?: string): string | undefined {
  if (!isA(error, Error)) return undefined;
  const [code, id] = [fieldOf(error, "code"), fieldOf(error, "runId") ?? runId];
  if (typeof code !== "string" || !Object.hasOwn(cures, code)) return undefined;
  return cures[code]!(typeof id === "string" ? quoted(id) : "RUN");
}

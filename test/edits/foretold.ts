/** What `stepmark diff` says that an edit does to a run, beside what it then does. */
import { difference } from "../../transformer/lock/difference.js";
import { accept, sourceFiles } from "../lock/project.js";
import { type Before, type Mode, modes } from "./case.js";
import type { Case } from "./corpus.js";
import { build } from "./program.js";
import { resume } from "./run.js";

export interface Foretold {
  readonly mode: Mode;
  /** Whether records of the run's own calls are said to be refused, or of others, or none. */
  readonly said: "refused" | "others refused" | "used";
  /** Whether it was refused because of where its calls stand. */
  readonly isRefused: boolean;
}

/** Resumes a whole record of `then` with an edited code. */
export async function foretold(then: Before, { after }: Case): Promise<Foretold[]> {
  const filesNow = Object.fromEntries(after.files);
  const [before, now] = [Object.fromEntries(then.project.files), filesNow].map(sourceFiles) as ReturnType<
    typeof sourceFiles
  >[];
  const found: Foretold[] = [];
  for (const mode of modes) {
    const lockThen = mode === "none" ? [] : then.lines;
    const lock = { none: undefined, old: then.lines, accepted: accept(then.lines, filesNow).lines }[mode];
    const { run } = mode === "none" ? then.plain : then.locked;
    const { unaccepted, ambiguous, lost } = difference(
      { files: before!, lock: lockThen },
      { files: now!, lock: lock ?? [] },
    );
    const refused = [...[...unaccepted, ...ambiguous].map(({ line }) => line), ...lost].filter(
      ({ kind }) => kind !== "function",
    );
    const isRecorded = run.entries.some(({ site }) =>
      refused.some(({ path, container, anchor, tag }) =>
        mode === "none"
          ? site?.module === path && site.container === container && site.anchor === anchor
          : site?.tag === tag,
      ),
    );
    const { error } = await resume(build(after, "text", lock), run.store, run.entries.length);
    found.push({
      mode,
      said: isRecorded ? "refused" : refused.length > 0 ? "others refused" : "used",
      isRefused: /^(RETIRED|AMBIGUOUS)_SITE$/.test(error ?? ""),
    });
  }
  return found;
}

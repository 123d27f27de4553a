/** Runs of a store as lines of text: see `format.ts`. */
import { createHash } from "node:crypto";
import type { Entry } from "../journal/entry.js";
import type { Message, Store, WholeRun } from "../stores/store.js";
import { FORMAT_VERSION, type Line, LinesDigest, neededChildren } from "./format.js";
import { readWhole } from "./read-whole.js";

export interface ExportOptions {
  /**
   * `false`: without inputs, outputs, errors and the values of entries and messages. Of what calls were given only a digest is
   * kept then. Such a file can be looked at; it can neither be imported nor replayed.
   */
  values?: boolean;
  /** With the child runs, and those of these. */
  children?: boolean;
}

/**
 * @returns the lines, without line ends
 * @throws from `next`: RunNotFoundError, RunOwnedError for a run that goes on all the time, StoreError
 */
export async function* exportLines(
  store: Store,
  ids: Iterable<string>,
  { values = true, children = false }: ExportOptions = {},
): AsyncGenerator<string, void> {
  const digest = new LinesDigest();
  const spell = (line: Line): string => {
    const text = JSON.stringify(line);
    digest.add(text);
    return text;
  };
  yield spell({ stepmark: "runs", version: FORMAT_VERSION, values });
  let runs = 0;
  for await (const whole of wholeRuns(store, ids, children)) {
    runs++;
    const { run, entries, inbox } = values ? whole : withoutValues(whole);
    yield spell({ run });
    for (const entry of entries) yield spell({ entry });
    for (const message of inbox) yield spell({ message });
    const absent = await absentChildren(store, whole);
    const counts = { entries: entries.length, messages: inbox.length, ...(absent.length > 0 && { absent }) };
    yield spell({ end: { ...counts, digest: digest.value } });
  }
  yield JSON.stringify({ complete: { runs, digest: digest.value } } satisfies Line);
}

/**
 * The same as text: each line with its end.
 *
 * @throws from `next`: as `exportLines`
 */
export async function* exportText(
  store: Store,
  ids: Iterable<string>,
  options?: ExportOptions,
): AsyncGenerator<string, void> {
  for await (const line of exportLines(store, ids, options)) yield `${line}\n`;
}

/** The runs, each once; child runs before the runs that have begun them, so that whoever reads them has them at hand. */
async function* wholeRuns(store: Store, ids: Iterable<string>, children: boolean): AsyncGenerator<WholeRun, void> {
  const wanted = new Set(ids);
  const seen = new Set<string>();
  async function* of(id: string): AsyncGenerator<WholeRun, void> {
    if (seen.has(id)) return;
    seen.add(id);
    const whole = await readWhole(store, id);
    for (const { child } of whole.entries) {
      if (child === undefined || seen.has(child) || !(children || wanted.has(child))) continue;
      if ((await store.read(child)) !== undefined) yield* of(child);
    }
    yield whole;
  }
  for (const id of wanted) yield* of(id);
}

async function absentChildren(store: Store, whole: WholeRun): Promise<string[]> {
  const absent: string[] = [];
  for (const child of neededChildren(whole)) if ((await store.read(child)) === undefined) absent.push(child);
  return absent;
}

function withoutValues({ run, entries, inbox }: WholeRun): WholeRun {
  const { input: _, output: __, error: ___, inputPrint, ...rest } = run;
  return {
    run: { ...rest, inputPrint: digestOf(inputPrint) } as WholeRun["run"],
    entries: entries.map(({ value: _, args, ...entry }): Entry => ({ ...entry, args: args && digestOf(args) })),
    inbox: inbox.map(({ value: _, ...message }) => message as Message),
  };
}

/** A fingerprint that can be read is what it is of. */
function digestOf(print: string): string {
  return `#${createHash("sha256").update(print).digest("hex").slice(0, 24)}`;
}

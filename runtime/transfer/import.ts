/** Exported runs into a store. */
import { ExportFileError, RunExistsError, ValuesLeftOutError } from "../errors.js";
import type { Store } from "../stores/store.js";
import { neededChildren } from "./format.js";
import { type ExportedRun, type ExportText, readExport } from "./read-export.js";

/**
 * Puts exported runs into a store. All is read and checked before anything is written, and a run comes in together with
 * the child runs of the file that it has begun: it must not begin them anew.
 *
 * @param open gives the text; it is read twice, so that a large file need not be held
 * @returns the runs' ids
 * @throws ExportFileError, ValuesLeftOutError, RunExistsError, NewerVersionError, DamagedJournalError, StoreError
 */
export async function importRuns(store: Store, open: () => ExportText): Promise<string[]> {
  const ids = await check(store, open());
  /** Runs whose parents are still to come. */
  let held: ExportedRun[] = [];
  const restored = new Set<string>();
  for await (const read of readExport(open())) {
    const { parent } = read.run;
    if (parent !== undefined && ids.has(parent.id) && !restored.has(parent.id)) {
      held.push(read);
      continue;
    }
    const family = [read];
    for (const { run } of family) family.push(...held.filter((each) => each.run.parent!.id === run.id));
    const [taken] = await store.restore(family);
    if (taken !== undefined) throw exists(taken);
    for (const { run } of family) restored.add(run.id);
    held = held.filter(({ run }) => !restored.has(run.id));
  }
  // Runs that have begun each other.
  const [taken] = await store.restore(held);
  if (taken !== undefined) throw exists(taken);
  return [...ids];
}

/** @returns the ids of the runs, all of which can be put in */
async function check(store: Store, text: ExportText): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  const needed = new Map<string, string>();
  for await (const read of readExport(text)) {
    const { id } = read.run;
    if (!read.values) throw new ValuesLeftOutError("cannot be imported", { runId: id });
    if (ids.has(id)) throw new ExportFileError("The run stands twice in the file", { runId: id });
    if ((await store.read(id)) !== undefined) throw exists(id);
    ids.add(id);
    for (const child of neededChildren(read)) if (!read.absent.includes(child)) needed.set(child, id);
  }
  for (const [child, id] of needed) {
    if (ids.has(child) || (await store.read(child)) !== undefined) continue;
    throw new ExportFileError(
      `The run waits for its child run ${JSON.stringify(child)}, which is neither in the file nor in the store: it would begin it anew`,
      { runId: id },
      "Export it with its children: `app.export(id, { children: true })`, or `stepmark export --children`. Nothing was imported.",
    );
  }
  return ids;
}

function exists(runId: string): RunExistsError {
  return new RunExistsError("The store holds a run with this id, and nothing is imported over it", { runId });
}

/** Which functions open frames and which loops count, given which calls have an identity. */
import type { FunctionRecord, LoopPlace, LoopRecord, Survey } from "./survey.js";

export interface Needs {
  /** Functions that hold an identity anywhere: they have a row. */
  readonly rows: ReadonlySet<FunctionRecord>;
  /** Functions whose body holds an identity, or creates a function that does: they open a frame. */
  readonly frames: ReadonlySet<FunctionRecord>;
  /** Loops around identities, with the parts of each that hold one. */
  readonly loops: ReadonlyMap<LoopRecord, ReadonlySet<LoopPlace["part"]>>;
}

/** @param force counts every function and loop among them, whether it holds an identity or not */
export function findNeeds({ functions, calls, loops: all }: Survey, force = false): Needs {
  const rows = new Set<FunctionRecord>();
  const frames = new Set<FunctionRecord>();
  const loops = new Map<LoopRecord, Set<LoopPlace["part"]>>();
  const count = (places: readonly LoopPlace[]): void => {
    for (const { loop, part } of places) loops.set(loop, (loops.get(loop) ?? new Set()).add(part));
  };
  for (const { role, owner, zone, loops } of calls) {
    if (role === "none") continue;
    rows.add(owner);
    if (zone === undefined) frames.add(owner);
    count(loops);
  }
  if (force) {
    for (const record of functions) if (record.kind === "function" && !record.inWith) rows.add(record);
    for (const record of rows) if (record.kind !== "field") frames.add(record);
    for (const loop of all) if (!loop.inWith) loops.set(loop, new Set(loop.parts));
  }
  // A function comes after its creator in the survey, so that going backwards meets all inner ones first.
  for (const record of [...functions].reverse()) {
    if (!rows.has(record) || record.creator === undefined) continue;
    rows.add(record.creator);
    frames.add(record.creator);
    count(record.creation);
  }
  return { rows, frames, loops };
}

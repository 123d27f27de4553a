/** Which run has begun which: an id may be that of another run by now, since runs are deleted and ids are used again. */
import type { ParentCall, RunRecord } from "../stores/store.js";

/** Whether a run is the one that made a call of `child`. */
export function isParent({ id, createdAt }: Pick<RunRecord, "id" | "createdAt">, call: ParentCall): boolean {
  return call.id === id && (call.createdAt ?? createdAt) === createdAt;
}

/** Whether a run was begun by a call. */
export function isBegunBy({ parent }: Pick<RunRecord, "parent">, { id, key, createdAt }: ParentCall): boolean {
  if (parent?.id !== id || parent.key !== key) return false;
  // Stores of before do not say.
  return parent.createdAt === undefined || createdAt === undefined || parent.createdAt === createdAt;
}

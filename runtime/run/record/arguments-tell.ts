/** Whether the arguments of a call tell it apart from other calls of its site, as far as fingerprints show them. */
import { hasOpaqueOnly } from "../../journal/fingerprint.js";
import type { Call } from "../call.js";
import type { RunRecordView } from "./record.js";

export function argumentsTell(
  { key, site, args }: Pick<Call, "key" | "site" | "args">,
  record: RunRecordView,
): boolean {
  if (args === "" || hasOpaqueOnly(args)) return false;
  for (const [other, call] of record.calls) {
    if (other === key || call.args !== args) continue;
    if (call.site?.container === site?.container && call.site?.anchor === site?.anchor) return false;
  }
  return true;
}

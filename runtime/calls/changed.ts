/** `changed`: which of two versions of the code a run follows, where both have to stay in the text. */
import { anchorOf, bound, escapePart } from "../scope/key.js";
import { baseAnchor } from "../scope/module-table.js";
import { type CallSite, identify, rejecting, type Sited } from "./identity.js";
import { checkName } from "./name.js";

export interface Changed extends Sited {
  /**
   * Whether a run follows the changed code: `if (await changed("v2")) ... else ...`. `false` for a run whose record goes on from
   * here and was made without this call, else `true`. Decided when the run first asks, whichever of its calls that is, and the
   * same for all that ask in that run, ever after.
   *
   * @param id names the change: a literal text that no other change of the workflow has
   */
  (id: string): Promise<boolean>;
}

export const changed = ((...args: unknown[]) => rejecting(() => call(undefined, args))) as Changed;

changed.at = (frame, index, path, _captures, ...args) => rejecting((at) => call(at, args), { frame, index, path });

function call(at: CallSite | undefined, [id]: unknown[]): Promise<unknown> {
  checkName("The id of a change", id, 'Call `changed("id")`.');
  // The id does what an explicit key does: where the call stands says nothing. Only code that is not transformed needs a key itself.
  const identity = identify("changed", at, at && id);
  if (identity === undefined) return Promise.resolve(true);
  const { execution, within, record } = identity;
  return execution.askChanged({
    id,
    key: bound(`${execution.rootKey}#${escapePart(id)}`),
    site: record,
    within,
    // What the transformer calls a call whose id stands in the text.
    isLiteral: record !== undefined && baseAnchor(record.anchor) === `changed:${anchorOf(id)}`,
    start(call) {
      const outcome = { state: "done", value: execution.codec.encode(true) } as const;
      execution.finished(call, outcome, { name: id, within: within?.key });
    },
  });
}

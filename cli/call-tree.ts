/** A journal as a tree: what has become of each call, under the scopes that its replay key names. */
import { type Entry, type EntryKind, isOutcome } from "../runtime/journal/entry.js";
import { placeOf } from "../runtime/run/call.js";

/** How a call stands. `begun`: it has no outcome yet. */
export type CallState = "begun" | "done" | "failed" | "timed out";

export interface CallInfo {
  readonly key: string;
  readonly kind: EntryKind;
  state: CallState;
  /** Of a wait, or of what was published or decided. */
  name: string | undefined;
  /** `file:line`. */
  at: string | undefined;
  /** Of a step: those begun since its last outcome, or those that the outcome took. */
  attempts: number;
  /** How often the step had failed for good before it was run again. */
  failures: number;
  /** Of a wait: answers that its schema did not take. */
  refused: number;
  startedAt: number;
  /** Undefined while there is no outcome. */
  endedAt: number | undefined;
  due: number | undefined;
  child: string | undefined;
  /** Encoded: the outcome, or the payload of a wait that is open. */
  value: string | undefined;
}

export interface CallNode {
  /** The part of the key that it adds to the node above. */
  name: string;
  readonly key: string;
  call: CallInfo | undefined;
  readonly children: CallNode[];
}

/** Each call once, in the order in which the journal first tells of it. */
export function callsOf(entries: readonly Entry[]): CallInfo[] {
  const calls = new Map<string, CallInfo>();
  for (const entry of entries) {
    const call = calls.get(entry.key) ?? newCall(entry);
    calls.set(entry.key, call);
    add(call, entry);
  }
  return [...calls.values()];
}

function newCall({ key, kind, startedAt }: Entry): CallInfo {
  return {
    key,
    kind,
    state: "begun",
    name: undefined,
    at: undefined,
    attempts: 0,
    failures: 0,
    refused: 0,
    startedAt,
    endedAt: undefined,
    due: undefined,
    child: undefined,
    value: undefined,
  };
}

function add(call: CallInfo, entry: Entry): void {
  const { state, kind, attempt, startedAt, endedAt } = entry;
  call.name = entry.name ?? call.name;
  call.at = placeOf(entry.site) ?? call.at;
  call.due = entry.due ?? call.due;
  call.child = entry.child ?? call.child;
  if (state === "refused") {
    call.refused++;
    return;
  }
  if (call.state === "failed") call.failures++;
  if (isOutcome(state)) {
    call.state = entry.timedOut ? "timed out" : state;
    call.attempts = kind === "step" ? attempt : 0;
    call.startedAt = startedAt;
    call.endedAt = endedAt;
  } else {
    if (state === "open" || attempt === 1) call.startedAt = startedAt;
    call.state = "begun";
    call.attempts = kind === "step" ? attempt : 0;
    call.endedAt = undefined;
  }
  call.value = entry.value;
}

/**
 * The calls under their scopes. A scope that holds one thing only is told in one line with it.
 *
 * @returns the nodes without a parent: the workflow, and what bears a key that was too long to be kept whole
 */
export function treeOf(calls: readonly CallInfo[]): CallNode[] {
  const root: CallNode = { name: "", key: "", call: undefined, children: [] };
  const nodes = new Map<string, CallNode>();
  const nodeAt = (key: string): CallNode => {
    const known = nodes.get(key);
    if (known !== undefined) return known;
    const cutAt = key.lastIndexOf("/");
    const above = cutAt < 0 ? root : nodeAt(key.slice(0, cutAt));
    const node: CallNode = { name: partName(key.slice(cutAt + 1), cutAt < 0), key, call: undefined, children: [] };
    above.children.push(node);
    nodes.set(key, node);
    return node;
  };
  for (const call of calls) nodeAt(call.key).call = call;
  return root.children.map((node) => ({ ...node, children: node.children.map(folded) }));
}

function folded(node: CallNode): CallNode {
  const children = node.children.map(folded);
  const [only] = children;
  if (node.call !== undefined || children.length !== 1) return { ...node, children };
  return { ...only!, name: `${node.name}/${only!.name}` };
}

/** The head of a key that was too long is a digest, see `runtime/scope/key.ts`. */
function partName(part: string, first: boolean): string {
  return first ? part.replace(/^#[0-9a-f]{32}/, "…") : part;
}

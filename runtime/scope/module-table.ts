/**
 * A transformed module's site table, read once when the module is first used. That may be in the midst of the module's
 * code, which may have replaced the array iterator, so nothing here iterates.
 */
import { escapePart } from "./key.js";
import { type Row, type RowDetails, RowKind } from "./site-table.js";

/** One place of a module: a sited call, a marked call or a function. */
export interface Place {
  kind: RowKind;
  /** `charge`, `charge~1`, `map`, ... */
  anchor: string;
  /** The anchor as a part of a key: `charge~1`, `map()`. */
  segment: string;
  /** The functions around the place, outermost first, joined by `>`. */
  container: string;
  line: number;
  /** How many places share the anchor in the function. */
  shared: number;
  /** How many of those have the same text, this one included. */
  twins: number;
  text: string;
  loops: readonly number[];
  /** `file:line`. */
  at: string;
  /** What tells it apart from its twins; see `RowDetails`. */
  own: string | undefined;
  /** The place's name in the lock file. */
  tag: string | undefined;
  /** See `RowDetails.loops`; undefined if they are those that are around it now. */
  bornLoops: readonly number[] | undefined;
  through: RowDetails["through"];
  skip: number;
  under: readonly GoneCall[];
  /** Of a function that stands as an argument of a marked call: the row of that. */
  givenTo: number | undefined;
}

/** A call that a place was under before an edit; see `RowDetails`. */
export interface GoneCall {
  place: Place;
  loops: number;
  indexed: boolean;
}

export interface ModuleTable {
  /** See `moduleId`. */
  id: string;
  path: string;
  /** Fingerprint of the module's text. */
  text: string;
  places: readonly Place[];
  /** Whether a lock file knows of places that were born elsewhere than where they stand now. */
  moved: boolean;
  /** Tags of places that were here, or in this file's charge, and are known to be gone. */
  retired: readonly string[];
  /** What the tree is called that the path is in, if that is known: two packages may each have a `src/index.ts`. */
  tree: string | undefined;
}

const noLoops: readonly number[] = [];
const nothing: readonly never[] = [];

export function readTable(
  path: string,
  text: string,
  rows: readonly Row[],
  retired: readonly string[] = nothing,
  tree?: string,
): ModuleTable {
  const twins = countTwins(rows);
  const places = rows.map((row, index): Place => {
    const { 0: kind, 1: anchor, 2: container, 3: line, 4: shared, 5: callText, 6: loops, 7: details } = row;
    return {
      kind,
      anchor,
      segment: segmentOf(kind, anchor),
      container: containerOf(rows, container),
      line,
      shared,
      twins: twins[index]!,
      text: callText,
      loops: loops ?? noLoops,
      at: `${path}:${line}`,
      own: details?.own,
      tag: details?.tag,
      bornLoops: details?.loops,
      through: details?.through,
      skip: details?.skip ?? 0,
      under: nothing,
      givenTo: undefined,
    };
  });
  linkArguments(rows, places);
  rows.forEach(({ 7: details }, index) => {
    if (details?.under === undefined) return;
    places[index]!.under = details.under.map(({ 0: row, 1: loops, 2: indexed }) => ({
      place: places[row]!,
      loops,
      indexed: indexed === 1,
    }));
  });
  return { id: moduleId({ path, tree }), path, text, places, moved: !places.every(isBornHere), retired, tree };
}

const separator = "\n";

/** What tells a module apart from all others: its path, and the tree that this is in. */
export function moduleId({ path, tree }: Pick<ModuleTable, "path" | "tree">): string {
  return tree === undefined ? path : path + separator + tree;
}

export function fromModuleId(id: string): Pick<ModuleTable, "path" | "tree"> {
  const end = id.indexOf(separator);
  return end < 0 ? { path: id, tree: undefined } : { path: id.slice(0, end), tree: id.slice(end + 1) };
}

/** Whether a place was born where it stands, as far as anybody knows. */
export function isBornHere({ under, skip, bornLoops }: Place): boolean {
  return under.length === 0 && skip === 0 && bornLoops === undefined;
}

/** The anchor without its ordinal. */
export function baseAnchor(anchor: string): string {
  return anchor.replace(/~\d+/, "");
}

// An anchor is a name, which may be the user's own text, an ordinal, and for functions `{}`, `()` or `(1)`.
const anchorParts = /^(.*?)(~\d+)?(\(\d*\)|\{\})?$/su;

function segmentOf(kind: RowKind, anchor: string): string {
  const isFunction = kind === RowKind.fn || kind === RowKind.generator;
  const { 1: name = "", 2: ordinal = "", 3: shape = "" } = anchorParts.exec(anchor)!;
  if (isFunction) return escapePart(name) + ordinal + shape;
  return escapePart(name + shape) + ordinal + (kind === RowKind.call ? "()" : "");
}

/** A function has the text of the call that it is given to. Where several calls may be meant, none is. */
function linkArguments(rows: readonly Row[], places: readonly Place[]): void {
  const calls = new Map<string, number | undefined>();
  const nameOf = ({ 2: container, 5: text, 6: loops }: Row): string => `${container} ${text} ${loops ?? ""}`;
  rows.forEach((row, index) => {
    if (row[0] === RowKind.call) calls.set(nameOf(row), calls.has(nameOf(row)) ? undefined : index);
  });
  rows.forEach((row, index) => {
    if (row[0] === RowKind.fn && row[1].endsWith("()")) places[index]!.givenTo = calls.get(nameOf(row));
  });
}

function countTwins(rows: readonly Row[]): number[] {
  const counts = new Map<string, number>();
  const groups = rows.map(({ 0: kind, 1: anchor, 2: container, 5: text }) =>
    JSON.stringify([kind, baseAnchor(anchor), container, text]),
  );
  groups.forEach((group) => {
    counts.set(group, (counts.get(group) ?? 0) + 1);
  });
  return groups.map((group) => counts.get(group)!);
}

function containerOf(rows: readonly Row[], index: number): string {
  const names: string[] = [];
  for (let i = index; i >= 0; i = rows[i]![2]) names.unshift(rows[i]![1]);
  return names.join(">");
}

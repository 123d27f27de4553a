/**
 * A module's site table as the lock file has it: each known place under the name, and in the functions, that it was born with;
 * new places under names that no other has or had. What the runtime compares and makes keys of is then as it was.
 */
import { createHash } from "node:crypto";
import { type Row, type RowDetails, RowKind, type Under } from "../../runtime/scope/site-table.js";
import { baseOf } from "../plan/anchors.js";
import type { Born, BornTable } from "../plan/shape.js";
import { BornNames } from "./born-names.js";
import {
  type GoneLine,
  isGone,
  joinContainer,
  type LockKind,
  type LockLine,
  ownerOf,
  splitContainer,
} from "./lock-line.js";
import { certainTiers, type Fn, Matching } from "./match.js";
import { kindOf, placesOf } from "./places.js";

/** @param lines those of the file */
export function bornBy(lines: readonly LockLine[]): Born {
  return (rows, ownOf) => {
    if (lines.length === 0) return { rows, retired: [], digest: "" };
    const live = lines.filter((line) => !isGone(line) || line.movedTo !== undefined);
    const { path } = lines[0]!;
    const places = placesOf(path, rows, ownOf);
    const module: Fn = { path, container: "" };
    const { pairs } = new Matching(live, places).matchMoved().match(module, module, certainTiers());
    return new Table(rows, lines, new Map(places.map((place) => [place.row, pairs.get(place)]))).made();
  };
}

/** A row that may still change. */
type Draft = { -readonly [K in keyof Row]: Row[K] };

class Table {
  private readonly rows: Draft[];
  private readonly retired: string[];

  constructor(
    private readonly present: readonly Row[],
    private readonly lines: readonly LockLine[],
    private readonly lineOf: ReadonlyMap<number, LockLine | undefined>,
  ) {
    this.rows = present.map((row) => [...row] as Draft);
    this.retired = lines.filter(({ retired, held }) => retired && !held).map(({ tag }) => tag);
  }

  made(): BornTable {
    // A function's row comes before those of what is in it, so the names around are known when a row is named.
    const newOnes: number[] = [];
    this.present.forEach((_, index) => {
      const line = this.lineOf.get(index);
      if (line === undefined) newOnes.push(index);
      else this.rename(index, line);
    });
    for (const index of newOnes) this.nameAnew(index);
    this.present.forEach((_, index) => {
      const line = this.lineOf.get(index);
      if (line !== undefined) this.lock(index, line);
    });
    return { rows: this.rows as readonly Row[], retired: this.retired, digest: this.digest() };
  }

  private rename(index: number, line: LockLine): void {
    const row = this.rows[index]!;
    row[1] = line.bornAnchor ?? line.anchor;
    if (line.bornContainer !== undefined) row[2] = this.functionAt(line.bornContainer);
  }

  private lock(index: number, { through, skip, under, bornLoops }: LockLine): void {
    const row = this.rows[index]!;
    // A function that is given to a call is known as either, since it may be entered with the call or later.
    const tags = [this.tagOf(index), this.tagOf(this.ownerRow(index))].filter((tag) => tag !== undefined);
    const details: RowDetails = {
      ...row[7],
      ...(tags.length > 0 && { tag: tags.join("+") }),
      ...(through !== undefined && { through }),
      ...(skip !== undefined && { skip }),
      ...(under !== undefined && { under: under.map((gone) => this.goneCall(gone)) }),
      ...(bornLoops !== undefined && { loops: bornLoops }),
    };
    row[6] ??= [];
    row[7] = details;
  }

  /** A tag says that nothing is in doubt: a call that was edited has none until that is accepted. */
  private tagOf(index: number): string | undefined {
    const line = this.lineOf.get(index);
    const isKnown = line?.kind === "function" || line?.text === this.present[index]?.[5];
    return isKnown ? line?.tag : undefined;
  }

  /** A place that the lock file does not know: its name is its own, unless somebody has or had that. */
  private nameAnew(index: number): void {
    const row = this.rows[index]!;
    const kind = kindOf(row[0]);
    const container = this.bornContainer(row[2]);
    const owner = kind === "function" ? this.ownerOf(index) : undefined;
    const [name, shape] = owner ?? splitShape(row[1], kind);
    const isFree = (anchor: string): boolean => !this.isTaken(kind, container, anchor, index);
    let anchor = name + shape;
    const base = baseOf(name);
    for (let ordinal = 1; !isFree(anchor); ordinal++) anchor = `${base}~${ordinal}${shape}`;
    row[1] = anchor;
  }

  /** A function that is given to a call goes by the name that the call has now. */
  private ownerOf(index: number): [string, string] | undefined {
    const call = this.ownerRow(index);
    return call < 0 ? undefined : [this.rows[call]![1], ownerOf(this.present[index]![1])!.shape];
  }

  /** The row of the call that the function in a row is given to; -1 if there is none. */
  private ownerRow(index: number): number {
    const [kind, anchor, container] = this.present[index]!;
    const owner = kindOf(kind) === "function" ? ownerOf(anchor) : undefined;
    if (owner === undefined) return -1;
    return this.present.findIndex(
      ([other, name, around]) => kindOf(other) !== "function" && around === container && name === owner.call,
    );
  }

  private isTaken(kind: LockKind, container: string, anchor: string, by: number): boolean {
    const isIt = (other: LockKind, around: string, name: string): boolean =>
      other === kind && name === anchor && around === container;
    return (
      this.rows.some(
        ([other, name, around], index) => index !== by && isIt(kindOf(other), this.bornContainer(around), name),
      ) || this.reserved().has(JSON.stringify([kind, container, anchor]))
    );
  }

  private names: Set<string> | undefined;

  /** What lines are called whose places are not found, or are known to be gone. */
  private reserved(): Set<string> {
    if (this.names !== undefined) return this.names;
    const born = new BornNames(this.lines);
    this.names = new Set(
      this.lines.map((line) => {
        const { container, anchor } = born.place(line);
        return JSON.stringify([line.kind, container, anchor]);
      }),
    );
    return this.names;
  }

  private bornContainer(index: number): string {
    const anchors: string[] = [];
    for (let at = index; at >= 0; at = this.rows[at]![2]) anchors.unshift(this.rows[at]![1]);
    return joinContainer(anchors);
  }

  /** The row of a function by what it was born as; one that is gone gets a row. */
  private functionAt(container: string): number {
    const anchors = splitContainer(container);
    const anchor = anchors.pop();
    if (anchor === undefined) return -1;
    const around = this.functionAt(joinContainer(anchors));
    const known = this.rows.findIndex(
      ([kind, name, outer]) => kindOf(kind) === "function" && outer === around && name === anchor,
    );
    return known >= 0 ? known : this.add([RowKind.fn, anchor, around, 1, 1, ""]);
  }

  private goneCall({ container, anchor, tag, text, loops, indexed }: GoneLine): Under {
    const around = this.functionAt(container);
    const known = this.rows.findIndex(
      ([kind, name, outer]) => kind === RowKind.call && outer === around && name === anchor,
    );
    const row = known >= 0 ? known : this.add([RowKind.call, anchor, around, 1, 1, text, [], { tag }]);
    return [row, loops, indexed ? 1 : 0];
  }

  private add(row: Draft): number {
    this.rows.push(row);
    return this.rows.length - 1;
  }

  /** Equal for equal keys: tags alone change nothing, since a build without them made the same ones. */
  private digest(): string {
    const said = this.rows.flatMap(([, anchor, container, , , , , details], index) => {
      const [, anchorNow, containerNow] = this.present[index] ?? [];
      const { through, skip, under, loops } = details ?? {};
      const isSaid = [through, skip, under, loops].some((each) => each !== undefined);
      if (anchor === anchorNow && container === containerNow && !isSaid) return [];
      return [[index, anchor, container, through, skip, under, loops]];
    });
    if (said.length === 0 && this.retired.length === 0) return "";
    return createHash("sha256")
      .update(JSON.stringify([said, this.retired]))
      .digest("hex")
      .slice(0, 6);
  }
}

function splitShape(anchor: string, kind: LockKind): [name: string, shape: string] {
  if (kind !== "function") return [anchor, ""];
  const [, name = "", shape = ""] = /^(.*?)(\(\d*\)|\{\})?$/s.exec(anchor)!;
  return [name, shape];
}

/** The planner: from a source file's syntax to plain data that says how it is to be changed. */
import type ts from "typescript";
import { type Row, type RowDetails, RowKind } from "../../runtime/scope/site-table.js";
import { type Analysis, analyse, forget } from "./analysis.js";
import { type Anchors, baseOf, nameAnchors } from "./anchors.js";
import { capturedBy, inlineBody } from "./captures.js";
import { planChains } from "./chains.js";
import type { Fingerprints } from "./fingerprint.js";
import { opensByParameter, restPosition } from "./generators.js";
import type { Library } from "./library.js";
import { planLoops, readsOwnNames } from "./loops.js";
import { chooseNames, type Names, namesIn } from "./names.js";
import { findNeeds, type Needs } from "./needs.js";
import { neighboursOf, purposeOf } from "./purpose.js";
import { rootFrame } from "./root.js";
import type { Scopes } from "./scopes.js";
import type { Born, CallEdit, CaptureGroup, FrameRef, FunctionEdit, Path, Plan, Span, WrapEdit } from "./shape.js";
import type { CallRecord, FunctionRecord, LoopPlace, Survey, Zone } from "./survey.js";
import { parentPastWrappers, type Source, type TypeScript } from "./syntax.js";
import { planTemps, type Temps } from "./temps.js";

export type { Plan } from "./shape.js";

export interface PlanOptions {
  /** Path of the file relative to the root, with forward slashes. */
  readonly path: string;
  /** What the tree is called that the path is in, if it has a name. */
  readonly tree?: string | undefined;
  /** Whether the file is to be transformed although it does not import the library. */
  readonly included: boolean;
  /** What a lock file says of the places; by default they are as they stand. */
  readonly born?: Born;
  /** Treat every function, loop and call as one that leads to a step, as tests of the transformer need it. */
  readonly force?: boolean;
}

/**
 * Plans a file; undefined if it is left alone: a declaration file, one that neither imports the library nor is included,
 * one that holds nothing to do, one that has been transformed before, or one with an error that our edits would hide.
 */
export function plan(ts: TypeScript, file: ts.SourceFile, options: PlanOptions): Plan | undefined {
  const { included, force } = options;
  const analysis = analyse(ts, file, { included, force });
  forget(file);
  return analysis && planAnalysed(analysis, options);
}

/** Plans a file that has been analysed; undefined if it holds nothing to do. */
export function planAnalysed(
  analysis: Analysis,
  { path, tree, born = asTheyStand, force = false }: Omit<PlanOptions, "included">,
): Plan | undefined {
  return planning(analysis, force)?.plan(path, tree, born);
}

/** The places of a file as they are, without a lock file, each with its syntax; see `planAnalysed`. */
export function placesAnalysed(analysis: Analysis): PlacedRow[] {
  return planning(analysis, false)?.places() ?? [];
}

export interface PlacedRow {
  readonly row: Row;
  readonly node: ts.Node;
  /** Fingerprint of what is made of its result. */
  readonly own: string;
  /** If nothing is made of its result: fingerprints of the statements before and after, empty where there is none. */
  readonly around: readonly string[];
  /** The loops of its function around it, outermost first. */
  readonly loops: readonly ts.Node[];
}

function planning(analysis: Analysis, force: boolean): Planning | undefined {
  const { source, scopes, library, found, fingerprints } = analysis;
  if (found.invalid) return undefined;
  const needs = findNeeds(found, force);
  if (needs.rows.size === 0) return undefined;
  const hidesError = [...needs.loops].some(
    ([{ node }, parts]) => parts.has("binding") && readsOwnNames(source, scopes, node),
  );
  return hidesError ? undefined : new Planning(source, scopes, library, found, fingerprints, needs);
}

/** The decisions about one file, made from what was found in it. */
class Planning {
  private readonly names: Names;
  private readonly anchors: Anchors;
  private readonly rowOf = new Map<FunctionRecord | CallRecord, number>();
  private readonly rows: Row[] = [];
  private readonly frameName = new Map<FunctionRecord, string>();
  private readonly loopNumber: ReadonlyMap<LoopPlace["loop"], number>;
  private readonly byParameter: ReadonlySet<FunctionRecord>;
  private readonly temps: Temps;

  constructor(
    private readonly source: Source,
    private readonly scopes: Scopes,
    private readonly library: Library,
    private readonly found: Survey,
    private readonly fingerprints: Fingerprints,
    private readonly needs: Needs,
  ) {
    this.names = chooseNames(namesIn(source));
    this.anchors = nameAnchors(source, found);
    this.loopNumber = new Map(
      found.loops.filter((loop) => needs.loops.has(loop)).map((loop, index) => [loop, index + 1]),
    );
    this.byParameter = new Set([...needs.frames].filter((record) => opensByParameter(source, scopes, record)));
    for (const record of found.functions) {
      if (record.kind !== "module" && needs.frames.has(record)) {
        this.frameName.set(record, this.names.frame(this.frameName.size + 1));
      }
    }
    this.temps = planTemps(source, scopes, found.calls, this.names);
  }

  plan(path: string, tree: string | undefined, born: Born): Plan {
    const { fingerprints } = this;
    this.writeRows();
    const nodes = this.nodes();
    const ownOf = (row: number): string => own(this.source, fingerprints, nodes[row]!);
    const { rows, retired, digest } = born(withTwins(this.rows, ownOf), ownOf);
    const text = fingerprints.module() + (digest && `.${digest}`);
    return {
      path,
      text,
      rows,
      root: {
        name: this.names.root,
        value: rootFrame(this.names.root, { path, text, rows, retired, tree }, this.scopes.declares),
      },
      functions: this.planFunctions(),
      loops: planLoops(this.source, this.library, this.needs, this.loopNumber, this.names, (record) =>
        this.frameOf(record),
      ),
      calls: this.identities().map((call) => this.planCall(call)),
      chains: planChains(this.temps),
      wraps: this.planWraps(),
    };
  }

  places(): PlacedRow[] {
    const { fingerprints } = this;
    const { call: fingerprint } = fingerprints;
    this.writeRows();
    const nodes = this.nodes();
    const loops: ts.Node[][] = [];
    for (const [record, index] of this.rowOf)
      loops[index] = ("loops" in record ? record.loops : record.creation).map(({ loop }) => loop.node);
    return this.rows.map((row, index) => {
      const node = nodes[index]!;
      const isStatement = this.source.ts.isExpressionStatement(purposeOf(this.source, node));
      const around = (isStatement ? neighboursOf(this.source, node) : []).map((each) =>
        each === undefined ? "" : fingerprint(each),
      );
      return { row, node, own: own(this.source, fingerprints, node), around, loops: loops[index]! };
    });
  }

  /** By row. */
  private nodes(): ts.Node[] {
    const nodes: ts.Node[] = [];
    for (const [{ node }, index] of this.rowOf) nodes[index] = node;
    return nodes;
  }

  /** Sites and marked calls, in source order. */
  private identities(): CallRecord[] {
    return this.found.calls.filter((call) => call.role !== "none");
  }

  private writeRows(): void {
    const containerOf = (record: FunctionRecord | undefined): number => this.rowOf.get(record!) ?? -1;
    for (const record of this.found.functions) {
      if (!this.needs.rows.has(record)) continue;
      if (record.kind !== "module") {
        const { text, shared } = this.anchors.functions.get(record)!;
        const kind = this.byParameter.has(record) ? RowKind.generator : RowKind.fn;
        const line = this.lineOf(nameOf(record.node));
        this.rowOf.set(record, this.rows.length);
        const digest = this.fingerprints.call(this.textOf(record));
        const around = this.loopIds(record.creation);
        const details = this.isNameless(record, text) ? { own: digest } : undefined;
        this.rows.push(row(kind, text, containerOf(record.creator), line, shared, digest, around, details));
      }
      for (const call of record.calls) {
        if (call.role === "none") continue;
        const { text, shared } = this.anchors.calls.get(call)!;
        const kind = call.role === "site" ? RowKind.site : RowKind.call;
        const line = this.lineOf(calleeName(this.source.ts, call.node));
        const loops = this.loopIds(call.loops);
        this.rowOf.set(call, this.rows.length);
        const digest = this.fingerprints.call(call.node);
        this.rows.push(row(kind, text, containerOf(record), line, shared, digest, loops));
      }
    }
  }

  /** What tells a function apart from its namesakes: the call that it is an argument of, or else the function itself. */
  private textOf({ node }: FunctionRecord): ts.Node {
    const { ts } = this.source;
    const { parent, child } = parentPastWrappers(this.source, node);
    if (parent === undefined || !(ts.isCallExpression(parent) || ts.isNewExpression(parent))) return node;
    return parent.expression === child ? node : parent;
  }

  /** Whether nothing names the function but its position among others, and it may be called from elsewhere: the items of a list, say. */
  private isNameless({ node }: FunctionRecord, anchor: string): boolean {
    const { parent, child } = parentPastWrappers(this.source, node);
    const isCalledAtOnce =
      parent !== undefined && this.source.ts.isCallExpression(parent) && parent.expression === child;
    return /^(~\d+)?\{\}$/.test(anchor) && !isCalledAtOnce;
  }

  private loopIds(places: readonly LoopPlace[]): number[] {
    return places.map(({ loop }) => this.loopNumber.get(loop)!);
  }

  private lineOf(node: ts.Node): number {
    const { file } = this.source;
    return file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1;
  }

  private pathOf(places: readonly LoopPlace[]): Path {
    return places.map(({ loop, part }) => ({
      constant: this.names.constant(this.loopNumber.get(loop)!),
      previous: part === "update",
    }));
  }

  /** The frame of a function, as code in its body reaches it. */
  private frameOf(record: FunctionRecord): FrameRef {
    const name = this.frameName.get(record);
    return name === undefined ? { kind: "root", name: this.names.root } : { kind: "variable", name };
  }

  private enter(record: FunctionRecord): { outer: FrameRef; row: number; path: Path } {
    return {
      outer: this.frameOf(record.creator!),
      row: this.rowOf.get(record)!,
      path: this.pathOf(record.creation),
    };
  }

  /** The frame of code that stands in a function: its own in the body, one opened on the spot in an initialiser. */
  private frameAt(record: FunctionRecord, zone: Zone | undefined): FrameRef {
    return zone === undefined ? this.frameOf(record) : { kind: "enter", ...this.enter(record) };
  }

  private planFunctions(): FunctionEdit[] {
    const edits: FunctionEdit[] = [];
    for (const [record, name] of this.frameName) {
      const place = this.byParameter.has(record) ? "parameter" : "body";
      const from = place === "parameter" ? restPosition(this.source, record) : undefined;
      const rest = from === undefined ? undefined : { key: this.names.rest, from };
      const { pos, end } = record.node;
      const { outer, row, path } = this.enter(record);
      edits.push({ pos, end, frame: { name, outer, row, path }, temps: this.temps.of(record), place, rest });
    }
    return edits;
  }

  private planCall(call: CallRecord): CallEdit {
    const { pos, end } = call.node;
    const row = this.rowOf.get(call)!;
    const frame = this.frameAt(call.owner, call.zone);
    const path = this.pathOf(call.loops);
    if (call.role === "site") {
      return { kind: "site", pos, end, row, frame, path, captures: this.planCaptures(call) };
    }
    if (this.source.ts.isNewExpression(call.node)) return { kind: "construct", pos, end, row, frame, path };
    return { kind: "mark", pos, end, row, frame, path, self: this.temps.selfOf(call) };
  }

  private planCaptures(call: CallRecord): CaptureGroup[] {
    const body = call.sited === "step" ? inlineBody(this.source, call.node) : undefined;
    if (body === undefined) return [];
    const groups: CaptureGroup[] = [];
    for (const [owner, names] of capturedBy(this.source, this.scopes, this.library, body)) {
      groups.push({ frame: this.frameVisibleAt(call, owner), names });
    }
    return groups;
  }

  /** The frame of the function that declares a captured binding; or the nearest one around that the call can see. */
  private frameVisibleAt(call: CallRecord, owner: ts.Node): FrameRef {
    let record: FunctionRecord | undefined = this.found.functions.find(({ node }) => node === owner);
    if (record === undefined) return this.frameAt(call.owner, call.zone);
    let at: FunctionRecord | undefined = call.zone === undefined ? call.owner : call.owner.creator;
    while (at !== undefined && at !== record) at = at.creator;
    if (at === undefined) record = record.creator;
    return this.frameOf(record!);
  }

  private planWraps(): WrapEdit[] {
    return this.temps.zones().map(({ zone, temps }) => ({ ...spanOf(zone.expression), temps }));
  }
}

function row(
  kind: RowKind,
  anchor: string,
  container: number,
  line: number,
  shared: number,
  text: string,
  loops: number[],
  details?: RowDetails,
): Row {
  const fields = [kind, anchor, container, line, shared, text] as const;
  if (details !== undefined) return [...fields, loops, details];
  return loops.length === 0 ? fields : [...fields, loops];
}

const asTheyStand: Born = (rows) => ({ rows, retired: [], digest: "" });

/** The rows, those that have twins with what tells them apart. */
function withTwins(rows: readonly Row[], ownOf: (row: number) => string): Row[] {
  const groups = new Map<string, number>();
  const groupOf = ([kind, anchor, container, , , text]: Row): string =>
    JSON.stringify([kind, baseOf(anchor), container, text]);
  for (const each of rows) groups.set(groupOf(each), (groups.get(groupOf(each)) ?? 0) + 1);
  return rows.map((each, index) => {
    const [kind, anchor, container, line, shared, text, loops = []] = each;
    const isCall = kind === RowKind.site || kind === RowKind.call;
    if (!isCall || groups.get(groupOf(each)) === 1) return each;
    return [kind, anchor, container, line, shared, text, loops, { own: ownOf(index) }];
  });
}

function own(source: Source, fingerprints: Fingerprints, call: ts.Node): string {
  return fingerprints.around(call, purposeOf(source, call));
}

function spanOf({ pos, end }: ts.Node): Span {
  return { pos, end };
}

/** The node whose line an error shows for a function. */
function nameOf(node: FunctionRecord["node"]): ts.Node {
  return ("name" in node ? node.name : undefined) ?? node;
}

/** The node whose line an error shows for a call: `m` in `o.m()`. */
function calleeName(ts: TypeScript, node: ts.CallExpression | ts.NewExpression): ts.Node {
  return ts.isPropertyAccessExpression(node.expression) ? node.expression.name : node.expression;
}

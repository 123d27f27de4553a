/**
 * The places of a run: frames, marked calls, step bodies and workflow bodies, linked to the places around them.
 *
 * Who is the parent of a frame is decided when the frame opens, by three rules in this order:
 *
 * 1. A marked call in progress whose code the function was entered from synchronously - if the function was created
 *    in no frame of a live run, or the call stands inside the place where it was created.
 * 2. The place of creation, if the function was created in a frame; numbered by how often it has been entered. Where
 *    it was entered on behalf of a step's body that stands there, it is a part of that body.
 * 3. The async context: the innermost place whose asynchronous extent this is. Calls in a second strand of such entries
 *    at one place have no identity, since nothing but timing would tell two strands apart.
 *
 * The async context is moved to each frame as it opens, so that it follows causality: a second, later entry sees the
 * frame of the first as its context and becomes its successor, while a concurrent one still sees the common parent.
 */
import { types } from "node:util";
import { chainOf, keyOf, type Via, viaOf } from "./birth.js";
import { callable, constructible } from "./callee.js";
import { extendByEntered } from "./chain.js";
import { countIn, EntryCounts } from "./entry-counts.js";
import { keysInOrder } from "./item-keys.js";
import { bound, escapePart, spellElement, visitKey } from "./key.js";
import type { ModuleTable, Place } from "./module-table.js";
import type { Origins } from "./origins.js";
import { state } from "./process-state.js";
import { findQueue, queueOf } from "./queues.js";
import { type LoopPath, type PathElement, RowKind } from "./site-table.js";
import { type FrameEntry, Turn } from "./turn.js";

const { isPromise } = types;

/** What places need to know of the run that they belong to. */
export interface RunScope {
  /** Whether the run is under way in this process; after its end, what is left of it calls straight through. */
  readonly open: boolean;
  /** Notes that a module's code takes part in the run. */
  contribute(module: ModuleTable): void;
  /** A digest of where a place stands, for finding it in another build. */
  whereabouts(module: ModuleTable, place: Place): string;
  /** Notes which function is the run's workflow. */
  setRoot(module: ModuleTable, place: Place): void;
  /** Ends the run with an error that no code of the workflow can catch. */
  fatal(error: Error): void;
  /** Where its objects and functions come from. */
  readonly origins?: Origins;
}

/** The extent of a step's body. */
export interface StepExtent {
  readonly key: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** The attempt has failed: what is left of its body gets nothing done any more. */
  readonly over: boolean;
  /** How often functions from outside were entered on its behalf, by their keys. */
  readonly visits: Map<string, number>;
}

/** Anything that can be the parent of a frame. */
export abstract class Scope {
  /** How many entries by rule 3 have happened here. */
  private strands = 0;

  constructor(
    readonly run: RunScope,
    readonly key: string,
    readonly chain: string,
    /** The innermost step body around. */
    readonly within: StepExtent | null,
    /** Marker of rule 3 entries in keys. */
    private readonly strandMark: string,
  ) {}

  /** The frame that the place stands in, with the loops around it; null for a run's own body. */
  abstract readonly site: Site | null;

  /**
   * Opens a frame here by rule 3. Any but the first has an order that only timing gave it: that is an error as soon as
   * a call below it needs an identity, and none otherwise.
   */
  openStrand(module: ModuleTable): Frame {
    const { key, timed, entry } = this.takeStrand();
    const frame = new Frame(module, this.run, key, this.chain, this.within, this.strandSite, timed, entry);
    frame.ordered = true;
    return frame;
  }

  /** The key of the next entry by rule 3, whether only timing gave it its number, and whether only its turn says what it is for. */
  takeStrand(): { key: string; timed: boolean; entry: Turn | undefined } {
    const number = this.strands++;
    const key = bound(numbered(this.key + this.strandMark, number));
    const { strandSite } = this;
    const call = callAround(strandSite);
    return { key, timed: number > 0, entry: call && new Turn(call, key, strandSite!.frame.given) };
  }

  /** The place that frames opened by rule 3 count as standing in. */
  protected get strandSite(): Site | null {
    return this.site;
  }
}

/** A place within a frame: the loops around it and where each of them stood. */
export interface Site {
  readonly frame: Frame;
  readonly loops: readonly number[];
  readonly path: LoopPath;
  /** An explicit key names the place: how the frame got its number does not matter below. */
  readonly keyed?: boolean;
}

/**
 * A function that stands as an argument of a marked call is named after that call, be it that the call entered it at once (rule 1)
 * or that it was started later (rule 2): a limiter does one or the other as it has room. The names may differ all the same,
 * and the record may hold the other one, since bodies that took the room then are answered now.
 */
export interface OtherName {
  /** Of the function's frame. */
  readonly key: string;
  readonly chain: string;
  /** What the same frame is called by the other rule: a place, in the frame in which the function was made. */
  readonly creator: Frame;
  readonly other: Place;
  readonly path: LoopPath;
}

/** A place that functions are called from synchronously: rule 1 numbers them in call order. */
export abstract class Caller extends Scope {
  // Written out: without it Node 20 passes the arguments on as a list, by the array iterator that the code may have replaced.
  constructor(run: RunScope, key: string, chain: string, within: StepExtent | null) {
    super(run, key, chain, within, "~");
  }

  /** Opens the frame of a function that was entered from here by rule 1. */
  openChild(module: ModuleTable, place: Place): Frame {
    const chain = this.chainInto(module, place);
    return new Frame(module, this.run, bound(this.childKey()), chain, this.within, this.site);
  }

  protected chainInto(module: ModuleTable, place: Place): string {
    return place.own === undefined
      ? this.chain
      : extendByEntered(this.chain, place, this.run.whereabouts(module, place));
  }

  /** The key of the next child. */
  abstract childKey(): string;

  /**
   * Whether a function created at `site` becomes a child here although it was created in a frame: if this place
   * stands inside the place of creation, that is in the same frame at the same or an inner iteration, or below.
   */
  adopts(site: Site): boolean {
    return standsInside(this.site, site);
  }
}

/** A marked call. */
export class MarkedCall extends Caller implements Site {
  readonly site = this;
  /** Whether a function has been entered from it, or in its async extent. */
  begun = false;

  constructor(
    readonly frame: Frame,
    private readonly place: Place,
    readonly path: LoopPath,
    /** Of the receiver's items, if it came from `keyed`, in the order in which the callee goes through them: they replace the children's numbers. */
    private readonly itemKeys: ReadonlyArray<string | undefined> | undefined,
    private readonly callee: object,
    private readonly self: unknown,
  ) {
    super(frame.run, keyOf(frame, place, path), frame.chainOf(place), frame.within);
  }

  get loops(): readonly number[] {
    return this.place.loops;
  }

  /** Whether a function stands as an argument of this very call. */
  gives({ givenTo }: Place, creator: Frame, path: LoopPath): boolean {
    if (givenTo === undefined || creator !== this.frame || creator.module.places[givenTo] !== this.place) return false;
    return (
      path === this.path ||
      (path !== 0 && this.path !== 0 && path.every((each, i) => each === (this.path as readonly PathElement[])[i]))
    );
  }

  childKey(): string {
    return this.numberedKey(this.nextNumber());
  }

  override openChild(module: ModuleTable, place: Place): Frame {
    const { run, frame, within } = this;
    const number = this.nextNumber();
    const via = viaOf(this.place, frame, this.path, number);
    const chain = this.chainInto(module, place);
    return new Frame(module, run, bound(this.numberedKey(number)), chain, within, this, false, undefined, via);
  }

  /** The number of the next function that is entered from here, or the key of its item. */
  private nextNumber(): PathElement {
    this.begun = true;
    const number = this.frame.count(this.place, this.path, this.key);
    return this.itemKeys?.[number] ?? number;
  }

  /** Notes that the callee has come back without having entered anything, and will go on later. */
  wait(): void {
    queueOf(this.run, this.callee, this.self).add(this);
  }

  /**
   * Notes that a function with a call that needs an identity was entered in the call's async extent.
   *
   * @returns the call that it may be for as well: the callee may begin what waits in the context of what has ended
   */
  enter(): string | undefined {
    const { begun } = this;
    this.begun = true;
    if (!begun) return undefined;
    return findQueue(this.run, this.callee, this.self)?.next();
  }

  private numberedKey(number: PathElement): string {
    return number === 0 ? this.key : `${this.key}[${spellElement(number)}]`;
  }
}

/** The body of a run, or of a workflow called inside another. */
export class WorkflowBody extends Caller {
  private children = 0;

  constructor(
    run: RunScope,
    key: string,
    chain: string,
    within: StepExtent | null,
    readonly site: Site | null,
    private readonly timed = false,
    private readonly entry?: Turn,
    /** Whether the order of entries gave it its key. */
    private readonly ordered = false,
  ) {
    super(run, key, chain, within);
  }

  childKey(): string {
    return numbered(this.key, this.children++);
  }

  override openChild(module: ModuleTable, place: Place): Frame {
    if (this.site === null && this.children === 0) this.run.setRoot(module, place);
    const chain = this.timed ? this.chain : this.chainInto(module, place);
    const { run, within, site, timed, entry } = this;
    const frame = new Frame(module, run, bound(this.childKey()), chain, within, site, timed, entry);
    if (this.ordered) frame.ordered = true;
    return frame;
  }

  /** The runtime calls the workflow's function itself, so that the first frame is that function's, wherever it was born. */
  override adopts(site: Site): boolean {
    return this.children === 0 || super.adopts(site);
  }
}

/** The body of a step, for one attempt. */
export class StepBody extends Caller {
  private children = 0;

  constructor(
    run: RunScope,
    /** The step's call; `run` and the context of the body hang on it. */
    readonly extent: StepExtent,
    chain: string,
    readonly site: Site | null,
  ) {
    super(run, extent.key, chain, extent);
  }

  childKey(): string {
    return numbered(this.key, this.children++);
  }

  /** The runtime calls the step's function itself, so that the first frame is that function's, wherever it was born. */
  override adopts(site: Site): boolean {
    return this.children === 0 || super.adopts(site);
  }
}

/** One activation of a function body. Generated code calls its methods; see `site-table.ts`. */
export class Frame extends Scope {
  readonly depth: number;
  /** Whether only timing gave the frame, or one that it is below, its number. */
  readonly timed: boolean;
  /** Of the innermost function around whose key the order of entries has a part in. */
  readonly given: FrameEntry | Turn | undefined;
  /** Of the innermost function around that has one. */
  otherName: OtherName | undefined;
  /** Whether the order of entries gave the frame, or one that it is below, its key: rules 2 and 3. */
  ordered: boolean;
  /** How often each place in this frame has been entered. */
  private counts: EntryCounts | undefined;
  /** The place whose chain was asked for last, which in a loop is the next one's too. */
  private chained: Place | undefined;
  private lastChain = "";

  constructor(
    readonly module: ModuleTable,
    run: RunScope,
    key: string,
    chain: string,
    within: StepExtent | null,
    readonly site: Site | null,
    timed = false,
    entry?: FrameEntry | Turn,
    /** Where places were born that now stand in the frame; see `RowDetails.through`. */
    readonly via?: Via,
  ) {
    super(run, key, chain, within, "/~");
    this.given = entry ?? site?.frame.given;
    this.depth = site === null ? 0 : site.frame.depth + 1;
    this.otherName = site?.frame.otherName;
    this.ordered = this.given !== undefined || site?.frame.ordered === true;
    this.timed = timed || (site !== null && !site.keyed && site.frame.timed);
    run.contribute(module);
  }

  get entry(): FrameEntry | undefined {
    return this.given instanceof Turn ? this.given.entry : this.given;
  }

  protected override get strandSite(): Site {
    return { frame: this, loops: [], path: 0 };
  }

  /** Where what is made here comes from, unless that may be another place on another pass. */
  private get origins(): Origins | undefined {
    return this.ordered ? undefined : this.run.origins;
  }

  /** The chain of a place in the frame. */
  chainOf(place: Place): string {
    if (place !== this.chained) {
      this.lastChain = chainOf(this, place);
      this.chained = place;
    }
    return this.lastChain;
  }

  /** How often a place, whose key there is `key`, has been entered before; counts this entry. */
  count(place: Place, path: LoopPath, key: string): number {
    this.counts ??= new EntryCounts();
    return this.counts.next(place, path, key, this.module.moved);
  }

  enter(index: number, path: LoopPath): Frame | OutsideFrame {
    return enter(this.module, index, this.run.open ? this : null, path);
  }

  call(index: number, path: LoopPath, callee: unknown, self: unknown, args: unknown[]): unknown {
    const place = this.module.places[index]!;
    const fn = callable(callee, place, this.call);
    if (!this.run.open) return Reflect.apply(fn, self, args);
    const mark = new MarkedCall(this, place, path, keysInOrder(self, fn, args), fn, self);
    const { origins } = this;
    origins?.noteGiven(args, mark.key);
    const result: unknown = inMark(mark, Reflect.apply, fn, self, args);
    origins?.noteResult(result, mark.key);
    if (!mark.begun && isPromise(result)) mark.wait();
    return result;
  }

  new(index: number, path: LoopPath, callee: unknown, args: unknown[]): unknown {
    const place = this.module.places[index]!;
    const fn = constructible(callee, place, this.new);
    if (!this.run.open) return Reflect.construct(fn, args);
    const mark = new MarkedCall(this, place, path, undefined, fn, undefined);
    const { origins } = this;
    origins?.noteGiven(args, mark.key);
    const made: unknown = inMark(mark, Reflect.construct, fn, args, fn);
    origins?.noteResult(made, mark.key);
    return made;
  }

  /** The path element for the item at `index` of an iterable: its key if it came from `keyed`. */
  itemKey(iterable: unknown, index: number): PathElement {
    return (typeof iterable === "object" && iterable !== null && state.itemKeys.get(iterable)?.[index]) || index;
  }
}

/** The frame of code that runs in no run: calls go straight through. One for each module; also its root. */
export class OutsideFrame {
  readonly run = null;

  constructor(readonly module: ModuleTable) {}

  enter(index: number, path: LoopPath): Frame | OutsideFrame {
    return enter(this.module, index, null, path);
  }

  call(index: number, _path: LoopPath, callee: unknown, self: unknown, args: unknown[]): unknown {
    return typeof callee === "function"
      ? Reflect.apply(callee, self, args)
      : callable(callee, this.module.places[index]!, this.call);
  }

  new(index: number, _path: LoopPath, callee: unknown, args: unknown[]): unknown {
    return Reflect.construct(constructible(callee, this.module.places[index]!, this.new), args);
  }

  itemKey(_iterable: unknown, index: number): PathElement {
    return index;
  }
}

const outsideFrames = new WeakMap<ModuleTable, OutsideFrame>();

export function outsideFrame(module: ModuleTable): OutsideFrame {
  let frame = outsideFrames.get(module);
  if (frame === undefined) {
    frame = new OutsideFrame(module);
    outsideFrames.set(module, frame);
  }
  return frame;
}

/** Opens a frame for the function at `index`, created in the live frame `creator` (or in none). */
function enter(module: ModuleTable, index: number, creator: Frame | null, path: LoopPath): Frame | OutsideFrame {
  if (state.liveRuns === 0) return outsideFrame(module);
  const place = module.places[index]!;
  const mark = state.mark;
  let frame: Frame;
  if (mark?.run.open && (creator === null || mark.adopts({ frame: creator, loops: place.loops, path }))) {
    frame = mark.openChild(module, place);
    if (creator !== null && mark instanceof MarkedCall && mark.gives(place, creator, path))
      nameOtherwise(frame, mark.key, creator, place, path);
  } else if (creator !== null) {
    frame = openAtCreation(module, place, creator, path);
  } else {
    const context = state.context.getStore();
    if (!context?.run.open) return outsideFrame(module);
    frame = context.openStrand(module);
  }
  // A generator opens its frame in its caller's code, which must keep its own context; and where there is no context
  // the code around belongs to no run and must not be drawn into this one.
  if (place.kind !== RowKind.generator && state.context.getStore() !== undefined) state.context.enterWith(frame);
  return frame;
}

/** Rule 2. */
function openAtCreation(module: ModuleTable, place: Place, creator: Frame, path: LoopPath): Frame {
  const segment = keyOf(creator, place, path);
  const site: Site = { frame: creator, loops: place.loops, path };
  const { mark } = state;
  const context = state.context.getStore();
  const caller = mark?.run === creator.run ? mark : context?.run === creator.run ? context : undefined;
  const within = caller && standsInside(caller.site, site) ? caller.within : creator.within;
  const visited = isVisit(place, creator, within) ? within : null;
  const closure = visited === null ? segment : visitKey(visited.key, segment);
  const number = visited === null ? creator.count(place, path, segment) : countIn(visited.visits, closure);
  const key = bound(numbered(closure, number));
  const chain = creator.chainOf(place);
  const entry = caller && { closure, entered: key, caller: caller.key };
  const via = viaOf(place, creator, path, number);
  const frame = new Frame(module, creator.run, key, chain, within, site, false, entry, via);
  const call = place.givenTo === undefined ? undefined : module.places[place.givenTo];
  if (call !== undefined && visited === null) nameOtherwise(frame, segment, creator, call, path);
  return frame;
}

/**
 * Tells what a frame would be called by the other rule, if it is the first that its function or call has opened.
 *
 * @param first the key of the first
 * @param other the place that names it by the other rule
 */
function nameOtherwise(frame: Frame, first: string, creator: Frame, other: Place, path: LoopPath): void {
  if (creator.module.moved || frame.key !== first) return;
  const { key, chain } = frame;
  frame.otherName = { key, chain, creator, other, path };
}

/**
 * Whether code that nobody sees has called a function on behalf of a step's body that stands where the function was made: then
 * that is a part of the body, since it does not happen where the record answers the step. A function that was given to a
 * call where it was made is not meant: there it was handed to whoever calls it, a queue say, which may do so when the body
 * has its turn.
 */
function isVisit({ segment }: Place, creator: Frame, within: StepExtent | null): within is StepExtent {
  return within !== null && within !== creator.within && segment.endsWith("{}");
}

/** The innermost marked call around a place. */
function callAround(site: Site | null): MarkedCall | undefined {
  let at = site;
  while (at !== null && !(at instanceof MarkedCall)) at = at.frame.site;
  return at ?? undefined;
}

/** Whether a place stands inside another: in the same frame at the same or an inner iteration, or below. */
function standsInside(place: Site | null, other: Site): boolean {
  for (let at = place; at !== null; at = at.frame.site) {
    if (at.frame === other.frame)
      return other.loops.every((loop, i) => at.loops[i] === loop && element(at, i) === element(other, i));
    if (at.frame.depth <= other.frame.depth) return false;
  }
  return false;
}

/**
 * Runs `body(a, b, c)` with `mark` as the marked call in progress and as the async context of what it starts. The
 * arguments are no list, since to spread one would call the array iterator, which the code may have replaced.
 */
export function inMark<A, B, C, T>(mark: Caller, body: (a: A, b: B, c: C) => T, a?: A, b?: B, c?: C): T {
  const outer = state.mark;
  state.mark = mark;
  try {
    // No function of ours in between: it would cost the code some of its stack.
    return state.context.run(mark, body, a as A, b as B, c as C);
  } finally {
    state.mark = outer;
  }
}

/** The place that code running now belongs to, where no frame says so. */
export function currentScope(): Scope | undefined {
  return state.mark?.run.open ? state.mark : state.context.getStore();
}

/** A scope for a workflow called inside a run: a child of the call in progress, named after the workflow. */
export function openWorkflow(name: string): WorkflowBody | undefined {
  const scope = currentScope();
  if (!scope?.run.open) return undefined;
  const marked = scope === state.mark;
  const {
    key: parent,
    timed,
    entry,
  } = marked ? { key: state.mark!.childKey(), timed: false, entry: undefined } : scope.takeStrand();
  const key = bound(`${parent}/${escapePart(name)}`);
  const body = new WorkflowBody(scope.run, key, scope.chain, scope.within, scope.site, timed, entry, !marked);
  // As with a function's frame: a later call by the same code is this one's successor.
  if (!marked) state.context.enterWith(body);
  return body;
}

function numbered(key: string, number: number): string {
  return number === 0 ? key : `${key}[${number}]`;
}

function element(site: Site, index: number): PathElement | undefined {
  return site.path === 0 ? undefined : site.path[index];
}

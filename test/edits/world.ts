/**
 * What surrounds one pass over a flow: bodies whose results say which execution they are of, answers, and a notebook of every call
 * that the code makes: which one of the source it is, and what it was given. Nothing here goes by replay keys, but for calls that are
 * given nothing.
 *
 * The library is imported by its path, so that this file is not transformed itself: its functions would count as the flow's.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import * as stepmark from "../../runtime/index.js";
import { keyOf } from "../../runtime/scope/birth.js";
import { type Frame, MarkedCall } from "../../runtime/scope/place.js";
import { state } from "../../runtime/scope/process-state.js";
import type { LoopPath } from "../../runtime/scope/site-table.js";
import { limiter } from "../support/unseen.js";

/** A call of `step`, `waitFor`, ... that the code has made. */
export interface Ask {
  readonly kind: string;
  readonly file: string;
  /** Index in the site table. */
  readonly row: number;
  readonly key: string;
  /** The marks of the call itself; none if it is new. */
  readonly own: readonly string[];
  /** Those of the calls that led to it, outermost first. */
  readonly way: readonly string[];
  /** What the code said that it works on. */
  readonly label: string | undefined;
  /** How often a body has been begun for it. */
  executions: number;
  /** What it was given, as text. */
  given?: string;
}

/** What a build's places are marked with, by file and row. */
export interface MarkTable {
  /** The marks of a call; of a function, those of the call that it is given to. */
  of(file: string, row: number): readonly string[];
  /** The row of the function that a place is in; -1 for the module. */
  functionOf(file: string, row: number): number;
}

const sited = ["step", "waitFor", "sleep", "now", "random", "uuid"] as const;

type At = (frame: Frame, row: number, path: LoopPath, captures: unknown, ...args: unknown[]) => Promise<unknown>;

/** The call whose body runs. One for the process, since each slows down every promise. */
const current = new AsyncLocalStorage<Ask>();

/** Ids of executions and answers: no two of this process are equal. */
let ids = 0;

export class World {
  readonly asks: Ask[] = [];
  /** What the code imports as the library: the library, with an ear at each call. */
  readonly library: Record<string, unknown>;
  /** What it imports as `bodies`. */
  readonly bodies = { done: this.done.bind(this), fail: this.fail.bind(this), log: this.log.bind(this), limiter };
  /** Changes as long as something happens. */
  progress = 0;
  private readonly byKey = new Map<string, Ask>();
  /** What functions have said that they work on. */
  private readonly labels = new WeakMap<Frame, string>();

  constructor(private readonly marks: MarkTable) {
    this.library = { ...stepmark };
    for (const name of sited) this.library[name] = this.heard(name, this.library[name] as unknown as { at: At });
  }

  answer(name: string): string {
    this.progress++;
    return `answer ${name}#${++ids}`;
  }

  private heard(kind: string, original: { at: At }): unknown {
    const at: At = (frame, row, path, captures, ...args) => {
      const ask = this.note(kind, frame, row, path);
      const promise = current.run(ask, () => original.at(frame, row, path, captures, ...args));
      promise.then(
        (value) => this.give(ask, spell(value)),
        (error: Error) => this.give(ask, `!${error.message}`),
      );
      return promise;
    };
    return Object.assign((...args: unknown[]) => (original as unknown as (...args: unknown[]) => unknown)(...args), {
      at,
    });
  }

  private note(kind: string, frame: Frame, row: number, path: LoopPath): Ask {
    this.progress++;
    const { module } = frame;
    const ask: Ask = {
      kind,
      file: module.path,
      row,
      key: keyOf(frame, module.places[row]!, path),
      own: this.marks.of(module.path, row),
      way: this.wayTo(frame, this.marks.functionOf(module.path, row)),
      label: this.labelOf(frame),
      executions: 0,
    };
    this.asks.push(ask);
    this.byKey.set(ask.key, ask);
    return ask;
  }

  private give(ask: Ask, text: string): void {
    this.progress++;
    ask.given = text;
  }

  /**
   * The marks of the calls that led to a frame; those of the runtime's own, which say who called whom within one build. A
   * function that code which nobody sees calls later, as a limiter does, is led to by the call that it was given to.
   *
   * @param fn the row of the function that the frame is of
   */
  private wayTo({ site, within, module }: Frame, fn: number): string[] {
    if (site === null) return [];
    const body = within !== null && within !== site.frame.within ? this.byKey.get(within.key) : undefined;
    if (body !== undefined) return [...body.way, ...body.own];
    const { frame } = site;
    const isCalled = site instanceof MarkedCall;
    const { path } = isCalled ? frame.module : module;
    // biome-ignore lint/complexity/useLiteralKeys: it is private
    const row = isCalled ? frame.module.places.indexOf(site["place"]) : fn;
    return [...this.wayTo(frame, this.marks.functionOf(path, row)), ...this.marks.of(path, row)];
  }

  private async done(name: string, ...args: unknown[]): Promise<string> {
    const text = await this.execute(name, args);
    return text;
  }

  private async fail(name: string, ...args: unknown[]): Promise<never> {
    throw new Error(await this.execute(name, args));
  }

  private async execute(name: string, args: unknown[]): Promise<string> {
    const ask = current.getStore();
    if (ask !== undefined) ask.executions++;
    const term = `${name}(${args.map((arg) => withoutIds(spell(arg))).join(",")})`;
    for (let turns = delayOf(term); turns > 0; turns--) await this.turn();
    this.progress++;
    return `${name}#${++ids}`;
  }

  private async turn(): Promise<void> {
    this.progress++;
    await setImmediate();
  }

  private log(...what: unknown[]): void {
    if (state.mark instanceof MarkedCall) this.labels.set(state.mark.frame, what.join(" "));
  }

  /** What the function of a frame has said last, or else one that led to it. */
  private labelOf(frame: Frame): string | undefined {
    for (let at: Frame | undefined = frame; at !== undefined; at = at.site?.frame) {
      const label = this.labels.get(at);
      if (label !== undefined) return label;
    }
    return undefined;
  }
}

/** Bodies take up to three macrotasks, so that those that run at once end in some other order than they began. */
function delayOf(term: string): number {
  return createHash("sha256").update(term).digest()[0]! % 4;
}

/** The same for equal values. */
function spell(value: unknown): string {
  return JSON.stringify(value) ?? String(value);
}

function withoutIds(text: string): string {
  return text.replace(/#\d+/g, "");
}

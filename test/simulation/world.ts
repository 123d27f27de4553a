/**
 * What a program's code reaches of the outside: bodies with results that no second execution gives again, and `t`,
 * which notes what each logical call was given.
 */

import pLimit from "p-limit";
import { stepContext } from "stepmark";
import type { Execution } from "../../runtime/run/execution.js";
import { currentScope } from "../../runtime/scope/place.js";
import { Emitter, limiter, retry, scatter, sequence } from "../support/unseen.js";
import { childInput } from "./print.js";
import type { Scheduler } from "./scheduler.js";

/** The execution of a body. */
export interface BodyNote {
  /** Undefined for a body that is not told which call it serves. */
  label: string | undefined;
  runId: string;
  key: string;
  attempt: number;
  ended: boolean;
  failed: boolean;
  /** Whether it may have taken longer than it had. */
  timed: boolean;
  /** How often the run's code had begun by then in this process. */
  pass: number;
}

/** What a call was given, in the order in which code saw it. */
export interface Given {
  label: string;
  /** The value as text, or `!` and the message of the error. */
  text: string;
  /** Within the body of a step. */
  inside: boolean;
  /** How often the workflow's code had begun by then in this process: a run that has left memory is replayed. */
  pass: number;
}

/** A message to a stream. */
export interface StreamMessage {
  label: string;
  draw: number;
}

/** What outlives a process. */
export interface Outside {
  draws: number;
  /** The number that the store gave a message to a stream, by its draw. */
  readonly posted: Map<number, number>;
}

/** Refusals: what is left of a run's code when the run has ended belongs to no run; unseen code was ambiguous. */
const notOutcomes = new Set<string | undefined>(["OUTSIDE_RUN", "AMBIGUOUS_SCOPE"]);

export class World {
  readonly bodies: BodyNote[] = [];
  readonly given: Given[] = [];
  /** What is wrong, as the program itself sees it. */
  readonly wrong: string[] = [];
  /** How often each run's code has begun, by its input. */
  private readonly passes = new Map<string, number>();
  /** The same by the run's id. */
  private readonly passesOfRuns = new Map<string, number>();
  /** What runs have been told of changes. */
  private readonly changes = new Map<string, boolean>();
  /** The last message of each stream in each pass: what number it has in the stream and in the inbox. */
  private readonly last = new Map<string, { index: number; number: number }>();

  constructor(
    private readonly outside: Outside,
    private readonly scheduler: Scheduler,
    /** Labels of `crash` bodies that have failed. */
    private readonly crashed: Set<string>,
  ) {}

  /** What the program imports. */
  get module(): Record<string, unknown> {
    const { begin, end, work, draw, fail, crash, flaky, slow, t, shop, took, said, starts } = this;
    const unseen = {
      limiter,
      lifo: (most: number) => limiter(most, "newest"),
      pLimit,
      retry,
      scatter,
      sequence,
      Emitter,
    };
    return {
      begin,
      end,
      work,
      draw,
      fail,
      crash,
      flaky,
      slow,
      t,
      shop,
      took,
      said,
      starts,
      messageOf,
      settled,
      ...unseen,
    };
  }

  /**
   * Waits for what a call gives, and notes it.
   *
   * @param nested whether it is a step that makes calls of its own
   */
  private readonly t = async (label: string, call: Promise<unknown>, nested = false): Promise<unknown> => {
    const inside = isInside();
    const pass = this.passOf(label);
    let value: unknown;
    try {
      value = await call;
    } catch (error) {
      if (notOutcomes.has((error as { code?: string }).code)) throw error;
      const text = textOf(error, true);
      this.given.push({ label, text, inside, pass });
      const owner = failedLabel(text);
      // A step that makes calls of its own may fail with what one of them throws.
      if (owner !== undefined && owner !== label && !nested) this.wrong.push(`${label} got the failure ${text}`);
      throw error;
    }
    this.given.push({ label, text: textOf(value, false), inside, pass });
    if (typeof value === "object" && value !== null) {
      const result = value as { label?: string; read?: true };
      if (result.label !== undefined && result.label !== label) this.wrong.push(`${label} got ${result.label}'s value`);
      if (result.read) this.wrong.push(`${label} got a value that other code has changed`);
      result.read = true;
    }
    return value;
  };

  /** To be called by a workflow when its code begins. */
  private readonly starts = (input: string): void => {
    const pass = (this.passes.get(input) ?? 0) + 1;
    this.passes.set(input, pass);
    this.passesOfRuns.set((currentScope()!.run as Execution).id, pass);
  };

  private passOf(label: string): number {
    return this.passes.get(inputOf(label)) ?? 0;
  }

  /** Notes the message of that number of a stream; the stream's messages come in the order of the inbox, each once. */
  private readonly took = (label: string, index: number, message: StreamMessage): StreamMessage => {
    const pass = this.passOf(label);
    this.given.push({ label, text: textOf(message, false), inside: isInside(), pass });
    if (message.label !== label) this.wrong.push(`${label} got a message to ${message.label}`);
    const number = this.outside.posted.get(message.draw)!;
    const stream = `${label} (pass ${pass}, ${isInside()})`;
    const before = this.last.get(stream);
    if (before !== undefined && before.index < index && before.number >= number)
      this.wrong.push(
        `message ${index} of ${label} is number ${number} of the inbox, the one before is ${before.number}`,
      );
    this.last.set(stream, { index, number });
    return message;
  };

  /** Takes an answer of `changed`: a run gets the same for one id always, in every pass. */
  private readonly said = (id: string, answer: boolean): boolean => {
    const key = JSON.stringify([(currentScope()!.run as Execution).id, id]);
    const before = this.changes.get(key) ?? answer;
    if (before !== answer) this.wrong.push(`changed("${id}") was ${before}, and is ${answer} now`);
    this.changes.set(key, answer);
    return answer;
  };

  private readonly begin = (label: string | undefined): BodyNote => {
    const { runId, key, attempt } = stepContext();
    const pass = this.passesOfRuns.get(runId) ?? 0;
    const note = { label, runId, key, attempt, ended: false, failed: false, timed: false, pass };
    this.bodies.push(note);
    return note;
  };

  private readonly end = (label: string | undefined, inner?: unknown): unknown => {
    const { runId, key, attempt } = stepContext();
    const isIts = (note: BodyNote): boolean => note.runId === runId && note.key === key && note.attempt === attempt;
    return this.result(this.bodies.findLast(isIts)!, label, inner);
  };

  private result(note: BodyNote, label: string | undefined, inner?: unknown): unknown {
    note.ended = true;
    const result = { label, draw: ++this.outside.draws, inner, read: undefined as true | undefined };
    // Whoever made a value may go on changing it.
    setImmediate(() => {
      result.read = true;
    });
    return result;
  }

  private failure(note: BodyNote, message: string): Error {
    note.ended = true;
    note.failed = true;
    return new Error(message);
  }

  private readonly work = async (label: string | undefined): Promise<unknown> => {
    const note = this.begin(label);
    await this.scheduler.turn();
    return this.result(note, label);
  };

  private readonly slow = async (label: string): Promise<unknown> => {
    const note = this.begin(label);
    note.timed = true;
    await this.scheduler.turn();
    await this.scheduler.turn();
    return this.result(note, label);
  };

  private readonly shop = { work: this.work };

  private readonly draw = (): Promise<unknown> => this.work(undefined);

  private readonly fail = async (label: string): Promise<never> => {
    const note = this.begin(label);
    await this.scheduler.turn();
    throw this.failure(note, `fail ${label}`);
  };

  private readonly crash = async (label: string): Promise<unknown> => {
    if (this.crashed.has(label)) return this.work(label);
    const note = this.begin(label);
    await this.scheduler.turn();
    this.crashed.add(label);
    throw this.failure(note, `crash ${label}`);
  };

  private readonly flaky = async (label: string, failures: number): Promise<unknown> => {
    if (stepContext().attempt > failures) return this.work(label);
    this.begin(label);
    await this.scheduler.turn();
    throw new Error(`flaky ${label}`);
  };
}

/** What a call gave, as text. */
export function textOf(outcome: unknown, failed: boolean): string {
  return failed ? `!${messageOf(outcome as Error)}` : (JSON.stringify(outcome) ?? "undefined");
}

/** The label in the failure of a body that is told which call it serves. */
export function failedLabel(text: string): string | undefined {
  return /^!(?:fail|crash|flaky) (.*)$/s.exec(text)?.[1];
}

function messageOf(error: Error): string {
  return error.message;
}

function settled(result: PromiseSettledResult<unknown>): unknown {
  return result.status === "fulfilled" ? result.value : messageOf(result.reason);
}

/** The input of the run that a label belongs to. */
export function inputOf(label: string): string {
  const end = label.lastIndexOf(childInput) + 1;
  return end > 0 ? label.slice(0, end) : label.startsWith(companionInput) ? companionInput : "";
}

/** The input of the second run of a process. */
export const companionInput = "@";

function isInside(): boolean {
  return (currentScope()?.within ?? null) !== null;
}

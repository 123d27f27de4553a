/**
 * The answers to `changed(id)`: one for each id and run, decided when the run first asks.
 *
 * A run whose record goes on from there, and was made by other code, has gone this way without the change: `false`. It has
 * to be told at once, since only then its code asks for what the record holds next; the entry that says so comes late
 * (`Entry.late`). Any other run is where no code has been before: `true`, which is an outcome like others, with its turn in the
 * order of delivery. Who asks later gets what is known at once, on all passes alike.
 */
import type { SiteRecord } from "../../journal/entry.js";
import type { StepExtent } from "../../scope/place.js";
import { type Call, newCall } from "../call.js";
import { recordedOf } from "./build.js";
import type { EditedCode } from "./edited-code.js";
import type { PresentCode } from "./present-code.js";
import type { RecordedCall } from "./record.js";
import type { Replay } from "./replay.js";

/** A call of `changed`. */
export interface ChangeRequest {
  id: string;
  /** The same for all calls of that id. */
  key: string;
  site: SiteRecord | undefined;
  /** The step body that makes the call. */
  within: StepExtent | null;
  /** Whether the id stands in the text of the call: then equal code asks with equal ids. */
  isLiteral: boolean;
  /** Records that the run is where no code has been before. Must not throw. */
  start(call: Call): void;
}

/** What is to be done about a call of `changed`. */
export interface Asked {
  promise: Promise<unknown>;
  /** For the first of its id: the call that brings the answer in its turn, or, if that is known, what is to be recorded. */
  first?: { call: Call; late: boolean };
}

interface Asker {
  within: StepExtent | null;
  resolve(answer: unknown): void;
}

export class Changes {
  private readonly answers = new Map<string, unknown>();
  /** Who waits for an answer that is not known yet. */
  private readonly askers = new Map<string, Asker[]>();

  /** @param isServed whether code may still be told something: that of a step's body, or of the run itself */
  constructor(
    private readonly replay: Replay,
    private readonly code: EditedCode,
    private readonly present: PresentCode,
    private readonly isServed: (within: StepExtent | null) => boolean,
  ) {}

  /** The step bodies that wait for an answer. */
  get waiting(): Array<Pick<Asker, "within">> {
    return [...this.askers.values()].flat();
  }

  ask(request: ChangeRequest): Asked {
    const { key } = request;
    if (this.answers.has(key)) return { promise: Promise.resolve(this.answers.get(key)) };
    const recorded = this.replay.find(key);
    if (recorded !== undefined) recorded.asked = true;
    const late = recorded?.outcome?.late ?? false;
    if (late || (recorded === undefined && this.cameBy(request))) {
      this.answers.set(key, false);
      const promise = Promise.resolve(false);
      return late ? { promise } : { promise, first: { call: callOf(request, recorded), late: true } };
    }
    const before = this.askers.get(key) ?? [];
    this.askers.set(key, before);
    const promise = new Promise((resolve) => before.push({ within: request.within, resolve }));
    if (before.length > 1) return { promise };
    const call = callOf(request, recorded);
    call.promise.then((answer) => this.answer(key, answer));
    return { promise, first: { call, late: false } };
  }

  private answer(key: string, answer: unknown): void {
    this.answers.set(key, answer);
    for (const { within, resolve } of this.askers.get(key) ?? []) if (this.isServed(within)) resolve(answer);
    this.askers.delete(key);
  }

  /** Whether the run came by here without the call. */
  private cameBy({ isLiteral }: ChangeRequest): boolean {
    return this.replay.goesOn((call) => !(isLiteral && this.isThisBuild(call)));
  }

  /** Whether it is this very code that recorded a call, all of it that has a part in the run by now. */
  private isThisBuild(call: RecordedCall): boolean {
    if (call.here) return true;
    if (this.code.changedSince(call)) return false;
    for (const module of this.present.tables.values()) if (recordedOf(call.build, module) === undefined) return false;
    return true;
  }
}

/** The call that stands for all calls of its id. */
function callOf({ key, site, start }: ChangeRequest, recorded: RecordedCall | undefined): Call {
  return newCall(
    {
      kind: "changed",
      key,
      args: "",
      chain: "",
      site,
      within: null,
      entry: undefined,
      start,
    },
    recorded,
  );
}

/** Exported runs, read and checked: nothing is handed out that is not what was written. */
import { isKeepable } from "../calls/name.js";
import { ExportFileError, NewerVersionError } from "../errors.js";
import { checkJournal } from "../journal/check-journal.js";
import type { Entry } from "../journal/entry.js";
import type { Message, ParentCall, StoredStatus, WholeRun } from "../stores/store.js";
import { FORMAT_VERSION, LinesDigest } from "./format.js";

/** Text, whole or in pieces of any length. */
export type ExportText = string | Iterable<string> | AsyncIterable<string>;

/** A run of a file. */
export interface ExportedRun extends WholeRun {
  /** Whether its values are there. */
  values: boolean;
  /** Ids of child runs that it waits for, and that its store did not hold. */
  absent: readonly string[];
}

/**
 * The runs of one file, or of several after each other.
 *
 * @throws from `next`: ExportFileError for what is no such file, was cut off or edited; NewerVersionError, DamagedJournalError
 */
export async function* readExport(text: ExportText): AsyncGenerator<ExportedRun, void> {
  let number = 0;
  let files = 0;
  let file: FileReader | undefined;
  for await (const line of linesOf(text)) {
    number++;
    if (line === "") continue;
    const parsed = parse(line, number);
    file ??= new FileReader(parsed, number);
    const run = file.take(line, parsed, number);
    if (run !== undefined) yield run;
    if (!file.complete) file.digest.add(line);
    else {
      files++;
      file = undefined;
    }
  }
  if (file === undefined && files === 0) throw notAnExport(1);
  if (file !== undefined) throw new ExportFileError(`The file ends in its midst, after line ${number}`);
}

class FileReader {
  readonly digest = new LinesDigest();
  complete = false;
  private readonly values: boolean;
  private headed = false;
  private runs = 0;
  private run: WholeRun["run"] | undefined;
  private entries: Entry[] = [];
  private inbox: Message[] = [];

  constructor(header: Fields, number: number) {
    const { stepmark, version, values } = header;
    if (stepmark !== "runs" || typeof version !== "number" || typeof values !== "boolean") throw notAnExport(number);
    if (version > FORMAT_VERSION) {
      throw new NewerVersionError(
        `The file's lines have version ${version}, and this version of stepmark knows ${FORMAT_VERSION}`,
        "Read it with the version that wrote it; nothing was changed.",
      );
    }
    this.values = values;
  }

  /** @returns the run that the line ends */
  take(line: string, { run, entry, message, end, complete }: Fields, number: number): ExportedRun | undefined {
    const damaged = (what: string): ExportFileError => damagedLine(number, what, this.run?.id);
    if (!this.headed) {
      this.headed = true;
    } else if (isFields(complete)) {
      if (this.run !== undefined || complete.runs !== this.runs) throw damaged("comes too early");
      if (complete.digest !== this.digest.value) throw damaged("does not belong to what stands before it");
      this.complete = true;
    } else if (isFields(run) && this.run === undefined) {
      this.run = readRun(run, this.values) ?? fail(damaged("is no run"));
    } else if (this.run === undefined) {
      throw damaged(line.length > 80 ? "is out of place" : `is out of place: ${line}`);
    } else if (isFields(entry)) {
      this.entries.push(entry as unknown as Entry);
    } else if (isFields(message)) {
      this.inbox.push(readMessage(message, this.values) ?? fail(damaged("is no message")));
    } else if (isFields(end)) {
      if (end.digest !== this.digest.value) throw damaged("does not belong to what stands before it");
      if (end.entries !== this.entries.length || end.messages !== this.inbox.length) throw damaged("counts wrong");
      if (this.values) checkJournal(this.run.id, this.entries);
      const absent = isTexts(end.absent) ? end.absent : [];
      const ended = { run: this.run, entries: this.entries, inbox: this.inbox, values: this.values, absent };
      this.runs++;
      this.run = undefined;
      this.entries = [];
      this.inbox = [];
      return ended;
    } else throw damaged("is of an unknown kind");
    return undefined;
  }
}

type Fields = Readonly<Record<string, unknown>>;

function parse(line: string, number: number): Fields {
  try {
    const parsed: unknown = JSON.parse(line);
    if (isFields(parsed)) return parsed;
  } catch {
    // Told below.
  }
  if (number === 1) throw notAnExport(number);
  throw damagedLine(number, "cannot be read, or the file ends in its midst");
}

const statuses: readonly StoredStatus[] = ["running", "waiting", "completed", "failed", "cancelled"];

/** Undefined for what is no run's record. Only what is known is taken over. */
function readRun(given: Fields, values: boolean): WholeRun["run"] | undefined {
  const { id, workflow, status, input, inputPrint, output, error, culprits, orphans, edited, due, parent } = given;
  const { scheme, fence, createdAt, updatedAt } = given;
  const isSound =
    isName(id) &&
    isName(workflow) &&
    statuses.includes(status as StoredStatus) &&
    (values ? isText(input) : input === undefined) &&
    isText(inputPrint) &&
    [output, error].every((text) => text === undefined || (values && isText(text))) &&
    [culprits, orphans, edited].every((texts) => texts === undefined || isTexts(texts)) &&
    (due === undefined || Number.isFinite(due)) &&
    (parent === undefined || isParentCall(parent)) &&
    [scheme, fence].every((number) => Number.isSafeInteger(number) && (number as number) >= 0) &&
    [createdAt, updatedAt].every((time) => Number.isFinite(time));
  if (!isSound) return undefined;
  const whole = { id, workflow, status, input, inputPrint, output, error, culprits, orphans, edited, due };
  const from = parent as ParentCall | undefined;
  return {
    ...whole,
    parent: from && { id: from.id, key: from.key, createdAt: from.createdAt },
    ...{ scheme, fence, createdAt, updatedAt },
  } as WholeRun["run"];
}

function isParentCall(given: unknown): boolean {
  if (!isFields(given) || !isText(given.id) || !isText(given.key)) return false;
  return given.createdAt === undefined || Number.isFinite(given.createdAt);
}

function readMessage({ number, target, value, at }: Fields, values: boolean): Message | undefined {
  if (!Number.isSafeInteger(number) || !isText(target) || !Number.isFinite(at)) return undefined;
  if (values ? !isText(value) : value !== undefined) return undefined;
  return { number, target, value, at } as Message;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isName(value: unknown): value is string {
  return isText(value) && value !== "" && isKeepable(value);
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(isText);
}

function fail(error: Error): never {
  throw error;
}

function notAnExport(number: number): ExportFileError {
  return new ExportFileError(`Line ${number} is not the beginning of exported runs`);
}

function damagedLine(number: number, what: string, runId?: string): ExportFileError {
  return new ExportFileError(`Line ${number} ${what}`, { runId });
}

/** Lines as they were written: text may hold what other readers take for the end of a line. */
async function* linesOf(text: ExportText): AsyncGenerator<string, void> {
  let rest = "";
  for await (const piece of typeof text === "string" ? [text] : text) {
    if (!piece.includes("\n")) {
      rest += piece;
      continue;
    }
    const lines = (rest + piece).split("\n");
    rest = lines.pop()!;
    for (const line of lines) yield trimmed(line);
  }
  if (rest !== "") yield trimmed(rest);
}

/** Without what editors and transfers put around lines. */
function trimmed(line: string): string {
  return line.replace(/^\ufeff/, "").replace(/\r$/, "");
}

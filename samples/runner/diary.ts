/** What happened when, and in which process: written to a file line by line, and drawn as a timeline. */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface DiaryLine {
  /** Milliseconds since the epoch. */
  time: number;
  /** Number of the process, from 1. */
  process: number;
  what: string;
}

const file = "diary.log";

/** Synchronous: nothing of it is lost when the process is killed. */
export function write(line: DiaryLine): void {
  appendFileSync(file, `${JSON.stringify(line)}\n`);
}

export function readDiary(directory = "."): DiaryLine[] {
  const path = join(directory, file);
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as DiaryLine);
}

const hour = 3_600_000;

/** Lines of text: each process's hours on an axis of days, then what happened, hour by hour. */
export function drawn(diary: readonly DiaryLine[], begin: number): string[] {
  const processes = [...new Set(diary.map(({ process }) => process))];
  const days = Math.ceil((diary.at(-1)!.time - begin) / (24 * hour));
  const lanes = processes.map((process) =>
    lane(
      diary.filter((line) => line.process === process),
      process,
      begin,
    ),
  );
  return [...axis(days), ...lanes, "", ...list(diary, begin)].map((line) => line.trimEnd());
}

/** `day 2, 08:30` */
export function dayAndHour(time: number, begin: number): string {
  return `day ${dayOf(time, begin)}, ${clockTime(time, begin)}`;
}

const margin = "".padEnd(11);

/** One column an hour. */
function axis(days: number): string[] {
  const all = Array.from({ length: days }, (_, day) => day + 1);
  return [
    margin + all.map((day) => `day ${day}`.padEnd(24)).join(""),
    margin + all.map(() => ["0", "6", "12", "18"].map((label) => label.padEnd(6)).join("")).join(""),
  ];
}

function lane(lines: readonly DiaryLine[], process: number, begin: number): string {
  const column = (time: number): number => Math.floor((time - begin) / hour);
  const [from, to] = [column(lines[0]!.time), column(lines.at(-1)!.time)];
  const end = lines.at(-1)!.what.startsWith("killed") ? "x" : "|";
  const hours = from === to ? end : `|${"-".repeat(to - from - 1)}${end}`;
  return `process ${process}  ${" ".repeat(from)}${hours}`;
}

function list(diary: readonly DiaryLine[], begin: number): string[] {
  let last: DiaryLine | undefined;
  return diary.map((line) => {
    const time = line.time === last?.time ? "" : clockTime(line.time, begin);
    const day =
      last !== undefined && dayOf(line.time, begin) === dayOf(last.time, begin) ? "" : `day ${dayOf(line.time, begin)}`;
    const process = line.process === last?.process ? "" : `process ${line.process}`;
    last = line;
    return `${day.padEnd(7)}${time.padEnd(7)}${process.padEnd(11)}${line.what}`;
  });
}

function dayOf(time: number, begin: number): number {
  return Math.floor((time - begin) / (24 * hour)) + 1;
}

function clockTime(time: number, begin: number): string {
  return new Date(time - begin).toISOString().slice(11, 16);
}

/** Runs and their entries as the page gets them. */
import type { Codec } from "../runtime/journal/codec.js";
import type { Entry, SiteRecord } from "../runtime/journal/entry.js";
import { isDead } from "../runtime/stores/owner.js";
import type { Message, RunRecord } from "../runtime/stores/store.js";
import { errorView } from "./error-view.js";
import type { Batch, JournalRow, RunBrief, RunLine, SiteView } from "./wire.js";

export function runLine(run: RunRecord, now: number): RunLine {
  const { id, workflow, status, createdAt, updatedAt, due, parent } = run;
  const line: RunLine = { id, workflow, status, createdAt, updatedAt };
  if (due !== undefined && status === "waiting") line.due = due;
  if (parent !== undefined) line.parent = parent.id;
  if (status === "running" && !isAlive(run, now)) line.left = true;
  return line;
}

export function runBrief(run: RunRecord, inbox: readonly Message[], codec: Codec, now: number): RunBrief {
  const { fence, owner, parent, orphans = [], edited = [] } = run;
  const brief: RunBrief = {
    ...runLine(run, now),
    fence,
    hasOutput: run.status === "completed",
    orphans,
    edited,
    queued: inbox.slice(0, 1_000).map(({ target }) => target),
  };
  if (owner !== undefined) brief.owner = { pid: owner.pid, host: owner.host.split("/")[0]!, alive: isAlive(run, now) };
  if (parent !== undefined) brief.parentKey = parent.key;
  if (run.status === "failed") brief.failure = failureOf(run, codec);
  return brief;
}

function failureOf(run: RunRecord, codec: Codec): ReturnType<typeof errorView> {
  try {
    return errorView(run.error === undefined ? undefined : codec.decode(run.error));
  } catch (error) {
    return errorView(error);
  }
}

/** Whether the process that owns a run lives, as far as can be seen from here. */
export function isAlive({ owner, leaseUntil = 0 }: RunRecord, now: number): boolean {
  return owner !== undefined && !isDead(owner, leaseUntil, now);
}

/** @returns the entries, and their sites each once */
export function rowsOf(entries: readonly Entry[]): Required<Pick<Batch, "sites" | "rows">> {
  const sites: SiteView[] = [];
  const numbers = new Map<string, number>();
  const numberOf = ({ module, line, anchor }: SiteRecord): number => {
    const name = `${module}\0${line}\0${anchor}`;
    let number = numbers.get(name);
    if (number === undefined) {
      number = sites.push({ module, line, anchor }) - 1;
      numbers.set(name, number);
    }
    return number;
  };
  const rows = entries.map((entry): JournalRow => {
    const { seq, key, kind, state, startedAt, endedAt, site, attempt, modules } = entry;
    const row: JournalRow = { seq, key, kind, state, start: startedAt, end: endedAt };
    if (site !== undefined) row.site = numberOf(site);
    if (attempt !== 1) row.attempt = attempt;
    for (const field of ["within", "name", "due", "timedOut", "child", "late", "process"] as const)
      if (entry[field] !== undefined) Object.assign(row, { [field]: entry[field] });
    if (modules !== undefined) row.modules = modules.map(([path, text]) => [path, text]);
    return row;
  });
  return { sites, rows };
}

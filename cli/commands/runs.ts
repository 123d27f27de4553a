/** `stepmark runs`: the runs of a store. */
import { runInfo } from "../../runtime/app/run-info.js";
import { jsonView } from "../../runtime/http/json-view.js";
import type { ListFilter, RunRecord, Store, StoredStatus } from "../../runtime/stores/store.js";
import { command, listed, UsageError } from "../command.js";
import { durationOption } from "../duration-option.js";
import { cut, type Look, table } from "../look.js";
import { driverOf, plainCodec, readField } from "../run-state.js";
import { existingStore, storeOption, using } from "../run-store.js";
import { errorText, fromNow, lasted, quoted, statusStyle, visible } from "../words.js";

const statuses = ["running", "waiting", "completed", "failed", "cancelled"] as const satisfies readonly StoredStatus[];

export const runs = command({
  usage: ["runs [--status STATUS]... [--workflow NAME] [--age TIME] [--oldest] [--limit N] [--after RUN] [--json]"],
  about: `Lists the runs of a store, newest first: each with its id, its workflow, how it stands, when it was begun, and what there is
to be known of it at once: why it failed, what it waits for, or that nobody drives it.`,
  options: {
    ...storeOption,
    status: {
      type: "string",
      multiple: true,
      value: "STATUS",
      help: `only runs that stand so, or so (a,b is a or b): ${statuses.join(", ")}`,
    },
    workflow: { type: "string", value: "NAME", help: "only runs of this workflow" },
    age: {
      type: "string",
      value: "TIME",
      help: "only runs that were begun within this time (2h, 7d); with a + before it (+7d), longer ago",
    },
    oldest: { type: "boolean", help: "the oldest first" },
    limit: { type: "string", value: "N", default: "50", help: "at most so many" },
    after: {
      type: "string",
      value: "RUN",
      help: "only runs that come after that one in the list: the last one of the page before",
    },
    json: { type: "boolean", help: "a line of JSON for each run" },
  },
  async run({ values }, { print, warn, look }) {
    const limit = wholeNumber(values.limit, "--limit");
    const [filter, age] = [filterOf(values), ageOf(values.age)];
    return using(existingStore(values.store), async (store) => {
      // Of one more than are shown it is known that there are more.
      const wanted = await firstOf(store, filter, age, limit + 1);
      const shown = wanted.slice(0, limit);
      const rows: RunRow[] = [];
      for (const run of shown) rows.push(await rowOf(store, run));
      if (values.json) for (const row of rows) print(JSON.stringify(jsonView(row)));
      else for (const line of linesOf(rows, look)) print(line);
      const failed = rows.find(({ status }) => status === "failed");
      if (failed !== undefined && look.width !== undefined && !values.json)
        warn(`\`stepmark show ${quoted(failed.id)}\` tells why it has failed, and what helps.`);
      const last = shown.at(-1);
      if (wanted.length > limit)
        warn(
          last === undefined
            ? "There are some."
            : `There are more: --after ${quoted(last.id)} shows those that come next.`,
        );
      else if (wanted.length === 0) warn("There are none.");
      return 0;
    });
  },
});

interface Filters {
  status?: string[];
  workflow?: string;
  oldest?: boolean;
  after?: string;
}

/** @throws UsageError */
export function wholeNumber(text: string, what: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageError(`${what} takes a whole number, not ${JSON.stringify(text)}`);
}

function filterOf({ status, workflow, oldest, after }: Filters): ListFilter {
  const filter: ListFilter = { order: oldest ? "oldest" : "newest" };
  if (after !== undefined) filter.after = after;
  if (workflow !== undefined) filter.workflow = workflow;
  if (status !== undefined) filter.status = statusesOf(status, statuses);
  return filter;
}

/**
 * @param given what was said with `--status`, each one or several with commas between
 * @throws UsageError
 */
export function statusesOf<T extends StoredStatus>(given: readonly string[], known: readonly T[]): T[] {
  return given
    .flatMap((each) => each.split(","))
    .map((each) => {
      const found = known.find((status) => status === each);
      if (found === undefined) throw new UsageError(`--status takes ${listed(known)}, not ${JSON.stringify(each)}`);
      return found;
    });
}

/** The times at which runs must have been begun, in milliseconds since the epoch: from the first on, and before the second. */
type Age = readonly [since: number, until: number];

function ageOf(age: string | undefined): Age {
  if (age === undefined) return [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  const [older, time] = age.startsWith("+") ? [true, age.slice(1)] : [false, age];
  const at = Date.now() - durationOption("--age", time);
  return older ? [Number.NEGATIVE_INFINITY, at] : [at, Number.POSITIVE_INFINITY];
}

/** How many runs are looked at in one go. */
const pageSize = 500;

/** The first `most` runs of that age; goes no further than it has to. */
async function firstOf(store: Store, filter: ListFilter, [since, until]: Age, most: number): Promise<RunRecord[]> {
  const found: RunRecord[] = [];
  const isAny = since === Number.NEGATIVE_INFINITY && until === Number.POSITIVE_INFINITY;
  const limit = Math.min(isAny ? most : pageSize, pageSize);
  let { after } = filter;
  for (;;) {
    const page = await store.list({
      ...filter,
      ...(after !== undefined && { after }),
      limit,
    });
    found.push(...page.filter(({ createdAt }) => since <= createdAt && createdAt < until));
    const last = page.at(-1);
    if (last === undefined || found.length >= most) return found.slice(0, most);
    // Whatever comes after it is as old, or as young, as none that is wanted.
    if (filter.order === "newest" ? last.createdAt < since : last.createdAt >= until) return found;
    after = last.id;
  }
}

interface RunRow {
  id: string;
  workflow: string;
  status: StoredStatus;
  createdAt: number;
  updatedAt: number;
  error?: unknown;
  waits?: Array<{ key: string; name: string; due?: number }>;
  due?: number;
  driver?: { pid: number; host: string; alive: boolean };
  parent?: { id: string; key: string };
}

async function rowOf(store: Store, run: RunRecord): Promise<RunRow> {
  const { id, workflow, status, createdAt, updatedAt, due, parent } = run;
  const row: RunRow = { id, workflow, status, createdAt, updatedAt };
  const driver = driverOf(run);
  if (driver !== undefined) row.driver = driver;
  if (parent !== undefined) row.parent = parent;
  if (status === "failed") row.error = readField(runInfo(run, [], plainCodec), "error");
  if (status === "waiting") {
    const { waits } = runInfo(run, await store.entries(id), plainCodec);
    row.waits = waits.map(({ key, name, due: until }) => ({ key, name, ...(until !== undefined && { due: until }) }));
    if (due !== undefined) row.due = due;
  }
  return row;
}

function linesOf(rows: readonly RunRow[], look: Look): string[] {
  if (rows.length === 0) return [];
  const now = Date.now();
  const head = ["RUN", "WORKFLOW", "STATUS", "BEGUN", ""].map((title) => look.paint("gray", title));
  const cells = rows.map((row) => [
    visible(row.id),
    visible(row.workflow),
    look.paint(statusStyle[row.status], row.status),
    fromNow(row.createdAt, now),
    detailOf(row, now),
  ]);
  // Without a terminal each line is a run.
  return table(look.width === undefined ? cells : [head, ...cells]).map((line) => cut(line, look.width));
}

function detailOf({ status, error, waits = [], due, driver, updatedAt, createdAt }: RunRow, now: number): string {
  switch (status) {
    case "failed":
      return errorText(error);
    case "waiting": {
      const names = waits.map(({ name }) => visible(name));
      const time =
        due === undefined ? [] : [due <= now ? `since ${lasted(now - due)} due` : `due ${fromNow(due, now)}`];
      return [names.length > 0 ? `for ${names.join(", ")}` : "", ...time].filter(Boolean).join(", ");
    }
    case "running":
      if (driver === undefined) return "nobody drives it";
      return driver.alive ? `by process ${driver.pid}` : `its process ${driver.pid} has ended: nobody drives it`;
    default:
      return `after ${lasted(updatedAt - createdAt)}`;
  }
}

/** `stepmark diff`: what a change of the code does to runs in flight. */
import path from "node:path";
import type { RunRecord } from "../../runtime/stores/store.js";
import { scriptId } from "../../transformer/hosts/host-transform.js";
import { type Difference, difference } from "../../transformer/lock/difference.js";
import { LOCK_NAME, parseLock } from "../../transformer/lock/lock-file.js";
import { type LockLine, splitContainer } from "../../transformer/lock/lock-line.js";
import { command, UsageError } from "../command.js";
import { filesAt } from "../git.js";
import { moveText, nameOf, whereIs } from "../place-text.js";
import { projectOptions, readSources } from "../project.js";
import { existingStore, using } from "../run-store.js";
import { counted } from "../words.js";

export const diff = command({
  usage: ["diff REVISION [--store FILE] [--json]"],
  about: `Says what the code as it is does to runs that a revision of it has recorded: whose records are used, and whose are not.`,
  arguments: { REVISION: "a commit, a branch or a tag" },
  options: {
    store: { type: "string", value: "FILE", help: "a store with runs: names those in flight that are affected" },
    json: { type: "boolean", help: "as data" },
    ...projectOptions,
  },
  ends: "Ends with 1 if a record would be refused.",
  async run({ values, positionals }, { print }) {
    const [revision] = positionals;
    if (revision === undefined || positionals.length > 1) throw new UsageError("one revision has to be named");
    const project = readSources(values);
    const lockName = path.relative(project.root, project.lockFile).replaceAll("\\", "/") || LOCK_NAME;
    const texts = filesAt(project.root, revision, (name) => name === lockName || isSource(name));
    const lock = texts.get(lockName);
    const before = {
      files: [...texts].flatMap(([name, text]) => (isSource(name) ? (project.read(name, text) ?? []) : [])),
      lock: lock === undefined ? [] : parseLock(lock, `${revision}:${lockName}`).lines,
    };
    const found = difference(before, { files: project.files, lock: project.lock?.lines ?? [] });
    const refused = [...[...found.unaccepted, ...found.ambiguous].map(({ line }) => line), ...found.lost];
    const affected = values.store === undefined ? [] : await affectedRuns(values.store, refused);
    if (values.json) print(JSON.stringify(asData(found, affected), undefined, 2));
    else for (const line of asText(found, affected, values.store !== undefined)) print(line);
    return refused.some(({ kind }) => kind !== "function") ? 1 : 0;
  },
});

function isSource(name: string): boolean {
  return scriptId.test(name) && !/\.d\.[cm]?ts$/.test(name) && !/(^|\/)node_modules\//.test(name);
}

/** A run in flight, and the places that it knows and this code does not. */
interface Affected {
  readonly run: RunRecord;
  readonly places: readonly string[];
}

async function affectedRuns(file: string, refused: readonly LockLine[]): Promise<Affected[]> {
  const known = new Map(refused.filter(({ kind }) => kind === "site").map((line) => [spell(line), line]));
  const tags = new Map(refused.map((line) => [line.tag, line]));
  return using(existingStore(file), async (store) => {
    const affected: Affected[] = [];
    for (const run of await store.list({ status: ["running", "waiting", "failed"] })) {
      const places = new Set<string>();
      for (const { site } of await store.entries(run.id)) {
        if (site === undefined) continue;
        const { module, container, anchor, tag, line } = site;
        const isLost = (tag !== undefined && tags.has(tag)) || known.has(JSON.stringify([module, container, anchor]));
        if (isLost) places.add(`${anchor} (${module}:${line})`);
      }
      if (places.size > 0) affected.push({ run, places: [...places] });
    }
    return affected;
  });
}

/** As a journal spells a site. */
function spell({ path: module, container, anchor }: LockLine): string {
  return JSON.stringify([module, splitContainer(container).join(">"), anchor]);
}

function asText(found: Difference, affected: readonly Affected[], asked: boolean): string[] {
  const { kept, edited, moved, ambiguous, unaccepted, retired, lost, added } = found;
  const lines = [
    ...edited.map((move) => `edited    ${moveText(move)}`),
    ...moved.map((move) => `moved     ${moveText(move)}`),
    ...unaccepted.map((move) => `refused   ${moveText(move)}`),
    ...ambiguous.map((move) => `refused   ${moveText(move)}`),
    ...lost.map((line) => `refused   ${line.path}  ${nameOf(line)}  is gone`),
    ...retired.map((line) => `retired   ${line.path}  ${nameOf(line)}`),
    ...added.map((place) => `new       ${whereIs(place)}  ${nameOf(place)}`),
  ];
  lines.push(
    `${kept.length} kept, ${edited.length} edited, ${moved.length} moved, ${retired.length} retired, ${added.length} new, ` +
      `${unaccepted.length + ambiguous.length + lost.length} refused${unaccepted.length > 0 ? " (`stepmark accept` resolves those that have moved)" : ""}`,
  );
  if (asked) {
    const runs = counted(affected.length, "run");
    lines.push(`${runs} in flight ${affected.length === 1 ? "is" : "are"} affected${affected.length > 0 ? ":" : ""}`);
  }
  for (const { run, places } of affected)
    lines.push(`  ${run.id}  ${run.workflow}  ${run.status}  ${places.join(", ")}`);
  return lines;
}

function asData(found: Difference, affected: readonly Affected[]): object {
  const move = ({ line, place }: Difference["kept"][number]): object => ({
    path: place.path,
    line: place.line,
    container: place.container,
    anchor: place.anchor,
    before: { path: line.path, container: line.container, anchor: line.anchor },
  });
  const gone = ({ path: file, container, anchor, kind }: LockLine): object => ({ path: file, container, anchor, kind });
  return {
    kept: found.kept.map(move),
    edited: found.edited.map(move),
    moved: found.moved.map(move),
    unaccepted: found.unaccepted.map(move),
    ambiguous: found.ambiguous.map(move),
    lost: found.lost.map(gone),
    retired: found.retired.map(gone),
    added: found.added.map(({ path: file, line, container, anchor, kind }) => ({
      path: file,
      line,
      container,
      anchor,
      kind,
    })),
    runs: affected.map(({ run: { id, workflow, status }, places }) => ({ id, workflow, status, places })),
  };
}

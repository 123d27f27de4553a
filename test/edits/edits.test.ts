/** What edits do to runs in flight, on a part of the corpus; `npm run edits` tries all of it. And: what the corpus would see. */
import { describe, expect, it } from "vitest";
import type { LockLine } from "../../transformer/lock/lock-line.js";
import { before, casesOf, tryEdit } from "./case.js";
import { type Case, corpus, oneOfEach } from "./corpus.js";
import { edits } from "./edits/index.js";
import { foretold } from "./foretold.js";
import { histories } from "./histories.js";
import { HistoryReport } from "./history-report.js";
import { readFlows } from "./project.js";
import { Report } from "./report.js";

const flows = readFlows();

it("the corpus has at least 40 kinds of edits of at least 10 flows", () => {
  expect(new Set(edits.map(({ name }) => name)).size).toBe(edits.length);
  expect(edits.length).toBeGreaterThanOrEqual(40);
  expect(flows.length).toBeGreaterThanOrEqual(10);
});

it("one edit of each kind: nothing is done again or given to another call, and with the accepted lock file all is kept but what nobody could know", async () => {
  const report = new Report();
  const unusable: string[] = [];
  for await (const [each, outcome] of casesOf(oneOfEach(flows, 1), 1)) {
    if (outcome instanceof Error) unusable.push(`${each.flow} | ${each.edit}: ${outcome.message}`);
    else report.add(each, outcome);
  }
  expect(report.faults).toEqual([]);
  expect(unusable).toEqual([]);
  expect(report.rows.size).toBeGreaterThanOrEqual(edits.length);
  const notKept = [...report.rows].filter(([, { same }]) => Object.keys(same.accepted).some((fate) => fate !== "kept"));
  const undone = (...names: string[]): string[] => names.flatMap((name) => [name, `${name}, undone`]);
  expect(new Set(notKept.map(([edit]) => edit))).toEqual(
    new Set(
      undone(
        "helper inlined at one of its calls",
        "items no longer go by their keys",
        "key put on",
        "key taken away",
        "key respelt",
        "other branch taken",
        "helper's call becomes a step",
        "helper becomes a workflow",
        "helper becomes a workflow of its name",
      ),
    ),
  );
  // Others, who number calls, would have mixed some of the same up.
  expect(report.total.papers.ordinal.taken).toBeGreaterThan(0);
}, 120_000);

it("runs that several builds have recorded: nothing is done again or given to another call, and an edit that is taken back is kept", async () => {
  const report = new HistoryReport();
  const some = flows.filter(({ name }) => ["claim", "images", "lottery"].includes(name));
  for await (const each of histories(some, { seed: 2, count: 2, only: undefined })) report.add(each);
  expect(report.faults).toEqual([]);
  expect(report.rows.size).toBe(8);
  expect(report.refusals.filter((text) => text.includes("rolled back, accepted"))).toEqual([]);
}, 120_000);

it("what `stepmark diff` says will be used is used", async () => {
  const foretelling = new Set(["arguments", "choice", "delete", "form", "key", "rename"]);
  const said = new Set<string>();
  for await (const each of oneOfEach(flows, 3)) {
    if (!foretelling.has(each.family)) continue;
    for (const { mode, said: saying, isRefused } of await foretold(await before(each.before), each)) {
      said.add(`${saying}, ${isRefused ? "refused" : "used"}`);
      if (isRefused) expect(`${each.edit}, ${mode}: ${saying}`).not.toMatch(/ used$/);
    }
  }
  expect(said).toContain("used, used");
  expect(said).toContain("refused, refused");
}, 120_000);

async function only(flow: string, edit: string): Promise<Case> {
  const named = flows.filter(({ name }) => name === flow);
  for await (const each of corpus(named, { seed: 1, places: 1, pairs: 0, only: edit }))
    if (each.edit === edit) return each;
  throw new Error(`There is no ${edit} in ${flow}`);
}

it("a worker that takes from a queue what another one took is refused, and does not do it again", async () => {
  const each = await only("images", "call of the same function before, its result unused");
  const report = new Report();
  report.add(each, await tryEdit(await before(each.before), each, (entries) => [entries]));
  expect(report.faults).toEqual([]);
  expect(Object.keys(report.total.same.accepted)).toContain("late");
});

describe("the corpus sees", () => {
  /** The faults of one edit, if the lock file that is accepted for it is another one. */
  async function faultsWith(change: (lines: readonly LockLine[]) => LockLine[]): Promise<string[]> {
    const each = await only("lottery", "lines shifted");
    const report = new Report();
    report.add(each, await tryEdit(await before(each.before), each, (entries) => [entries], change));
    return report.faults;
  }
  const isDraw = ({ container, anchor }: LockLine): boolean => container === "lottery()" && /^draw(~1)?$/.test(anchor);

  it("nothing with the right one", async () => {
    expect(await faultsWith((lines) => [...lines])).toEqual([]);
  });

  it("results that change places", async () => {
    const faults = await faultsWith((lines) => {
      const [one, two] = lines.filter(isDraw) as [LockLine, LockLine];
      const swapped = [
        { ...one, tag: two.tag, bornAnchor: two.anchor },
        { ...two, tag: one.tag, bornAnchor: one.anchor },
      ];
      return [...lines.filter((line) => !isDraw(line)), ...swapped];
    });
    expect(faults).toEqual([
      expect.stringMatching(/^taken, accepted: lottery .* lottery\/draw$/),
      expect.stringMatching(/^taken, accepted: lottery .* lottery\/draw~1$/),
    ]);
  });

  it("work that is done again", async () => {
    const faults = await faultsWith((lines) =>
      lines.flatMap((line): LockLine[] =>
        isDraw(line) && line.anchor === "draw"
          ? [
              { ...line, tag: "0123456789", bornAnchor: "draw~9" },
              { ...line, retired: true },
            ]
          : [line],
      ),
    );
    expect(faults).toEqual([expect.stringMatching(/^redone, accepted: lottery .* lottery\/draw$/)]);
  });
});

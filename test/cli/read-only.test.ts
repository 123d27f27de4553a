/** The commands on a store that they may read and not write: those that look do, and say so; those that write say that they cannot. */
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Fixture, makeFixture } from "./fixture.js";

let app: Fixture;
const file = (folder: string): string => path.join(app.folder, folder, "runs.db");

beforeAll(() => {
  app = makeFixture("read-only");
  chmodSync(app.folder, 0o755);
  app.begin("order", "order-1", { items: ["a"] });
  app.begin("label", "label-1", "x");
  for (const folder of ["put-away", "with-log"]) {
    mkdirSync(path.join(app.folder, folder));
    copyFileSync(path.join(app.folder, ".stepmark/runs.db"), file(folder));
  }
}, 120_000);
afterAll(() => {
  for (const folder of ["put-away", "with-log"]) chmodSync(path.join(app.folder, folder), 0o755);
  app.remove();
});

/** With the log of a writer that is there meanwhile. */
async function withLog(): Promise<void> {
  const { sqliteStore } = await import("stepmark/sqlite");
  const store = sqliteStore(path.join(app.folder, ".stepmark/runs.db"));
  await store.post("order-1", { target: "notes", value: "1", at: 1 });
  for (const end of ["", "-wal"])
    copyFileSync(path.join(app.folder, `.stepmark/runs.db${end}`), `${file("with-log")}${end}`);
  await store.close();
}

describe.skipIf(process.platform === "win32")("a store that cannot be written", () => {
  beforeAll(async () => {
    await withLog();
    for (const folder of ["put-away", "with-log"]) {
      for (const name of readdirSync(path.join(app.folder, folder)))
        chmodSync(path.join(app.folder, folder, name), 0o444);
      chmodSync(path.join(app.folder, folder), 0o555);
    }
  });

  const cannot = (folder: string): string => `The store ${folder}/runs.db cannot be written by this process`;
  const copied = (folder: string): string => `${cannot(folder)}: a copy of it is read, as it is now.\n`;

  it.each(["put-away", "with-log"])(
    "is shown, listed, exported and followed, and it is said that it is only read (%s)",
    (folder) => {
      const store = ["--store", `${folder}/runs.db`];
      const before = readdirSync(path.join(app.folder, folder));
      for (const [args, says] of [
        [["runs", "--workflow", "order"], /^order-1 {2}order {2}waiting/],
        [["show", "order-1"], /answer: stepmark answer order-1 approve JSON/],
        [["show", "order-1", "--entries"], /"seq":1,/],
        [["export", "order-1"], /^\{"stepmark/],
        [["events", "order-1"], /wait\.opened/],
      ] as const) {
        const { stdout, stderr, status } = app.asNobody(...args, ...store);
        expect({ status, stderr }, args.join(" ")).toEqual({ status: 0, stderr: copied(folder) });
        expect(stdout).toMatch(says);
      }
      expect(readdirSync(path.join(app.folder, folder))).toEqual(before);
    },
  );

  it.each([
    [["cancel", "order-1"]],
    [["answer", "order-1", "approve", "true"]],
    [["resume", "order-1", "--workflows", "dist/flows.js"]],
    [["prune", "--older-than", "0s", "--status", "completed"]],
    [["import", "runs.jsonl"]],
  ])("is not written: %j", (args) => {
    // One that came later.
    if (!existsSync(path.join(app.folder, "runs.jsonl"))) app.begin("label", "label-9", "x");
    app.write("runs.jsonl", app.stepmark("export", "label-9").stdout);
    const { stderr, status } = app.asNobody(...args, "--store", "put-away/runs.db");
    expect(status).toBe(1);
    expect(stderr).toContain(copied("put-away"));
    expect(stderr).toMatch(
      /The database \S+runs\.db cannot be written by this process, so it was opened to be read only/,
    );
    expect(stderr).toMatch(/Nothing was changed\. Let this process read and write the file.*\[STORE\]/);
  });

  it("that is not there is not made", () => {
    const { stderr, status } = app.asNobody("runs", "--store", "put-away/none.db");
    expect([status, stderr.split("\n")[0]]).toEqual([2, "stepmark runs: there is no store put-away/none.db"]);
    expect(existsSync(path.join(app.folder, "put-away/none.db"))).toBe(false);
  });
});

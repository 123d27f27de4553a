/** A SQLite file that this process may read and not write: what looks into it can, and changes nothing; what writes says why it cannot. */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { StoreError } from "../../runtime/errors.js";
import { sqliteStore } from "../../runtime/stores/sqlite.js";
import type { ReadOnly } from "../../runtime/stores/sqlite-database.js";
import { type DriverName, openDatabase } from "../../runtime/stores/sqlite-driver.js";
import type { Store } from "../../runtime/stores/store.js";
import { entry, newRun, owned } from "./behaviour.js";

const folder = mkdtempSync(join(tmpdir(), "stepmark-read-only-"));
chmodSync(folder, 0o755);
let folders = 0;
const newFolder = (): string => {
  const made = join(folder, String(folders++));
  mkdirSync(made);
  return made;
};

const drivers = (["node:sqlite", "better-sqlite3"] as const).filter((driver) => {
  try {
    openDatabase(":memory:", driver).close();
    return true;
  } catch {
    return false;
  }
});

const isRoot = process.getuid?.() === 0;

/** Nothing is read-only for root: for a test's time this process is nobody. */
function asNobody(): void {
  if (isRoot) process.seteuid!(65534);
}
function asOneself(): void {
  if (isRoot) process.seteuid!(0);
}

const open: Store[] = [];
afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
  asOneself();
});
afterAll(() => {
  // As they were, so that they can be removed.
  spawnSync("chmod", ["-R", "u+rwx", folder]);
  rmSync(folder, { recursive: true, force: true });
});

/** A file with a run, two entries and a message; its log holds a part of that, and its writer is there as long as it is not closed. */
async function written(driver: DriverName): Promise<{ path: string; writer: Store; fence: number }> {
  const path = join(newFolder(), "runs.db");
  const before = sqliteStore(path, { driver });
  await before.create(newRun("r"));
  await before.close();
  const writer = sqliteStore(path, { driver });
  open.push(writer);
  const fence = await owned(writer, "r");
  await writer.append("r", fence, [entry(1), entry(2)]);
  await writer.post("r", { target: "t", value: "[1]", at: 1 });
  return { path, writer, fence };
}

/** Of names: what is in the file's folder, with sizes. */
const around = (path: string): unknown =>
  readdirSync(join(path, ".."))
    .sort()
    .map((name) => [name, statSync(join(path, "..", name)).size]);

function looking(path: string, driver: DriverName): { store: Store; how: ReadOnly[] } {
  const how: ReadOnly[] = [];
  const store = sqliteStore(path, { driver, migrate: false, onReadOnly: (each) => how.push(each) });
  open.push(store);
  return { store, how };
}

const failure = async (promise: Promise<unknown>): Promise<StoreError> => {
  const error = await promise.then(
    () => undefined,
    (error) => error,
  );
  return error as StoreError;
};

async function expectAllRead(store: Store): Promise<void> {
  expect((await store.list({})).map(({ id }) => id)).toEqual(["r"]);
  expect(await store.entries("r")).toEqual([entry(1), entry(2)]);
  expect(await store.inbox("r")).toMatchObject([{ target: "t", value: "[1]" }]);
}

async function expectNothingWritten(path: string, store: Store): Promise<void> {
  for (const write of [
    () => store.create(newRun("s")),
    () => store.post("r", { target: "t", value: "[2]", at: 2 }),
    () => store.delete("r"),
    () => store.append("r", 1, [entry(3)]),
    () => store.renew(new Map([["r", 1]]), { now: 1, until: 2 }),
  ]) {
    const error = await failure(write());
    expect(error.code).toBe("STORE");
    expect(error.message).toMatch(
      /^The database .*runs\.db cannot be written by this process, so it was opened to be read only\b.*or be the user who owns them\. \[STORE\]$/,
    );
    expect(error.message).toContain(path);
  }
}

describe.skipIf(process.platform === "win32").each(drivers)("with %s", (driver) => {
  describe.each([
    ["file in a folder of one's own", 0o444, 0o777],
    ["file in a read-only folder", 0o444, 0o555],
    ["folder", 0o666, 0o555],
  ])("a read-only %s", (_, file, own) => {
    it("whose log is put away is read from a copy, and no file is made beside it", async () => {
      const { path, writer } = await written(driver);
      await writer.close();
      chmodSync(path, file);
      chmodSync(join(path, ".."), own);
      const before = around(path);
      asNobody();
      const { store, how } = looking(path, driver);
      await expectAllRead(store);
      expect(how).toEqual(["a copy"]);
      await expectNothingWritten(path, store);
      await store.close();
      asOneself();
      expect(around(path)).toEqual(before);
    });

    it("that came without the index of its log is read with what the log holds", async () => {
      const { path } = await written(driver);
      const copied = join(newFolder(), "runs.db");
      for (const end of ["", "-wal"]) {
        copyFileSync(`${path}${end}`, `${copied}${end}`);
        chmodSync(`${copied}${end}`, file);
      }
      chmodSync(join(copied, ".."), own);
      const before = around(copied);
      asNobody();
      const { store, how } = looking(copied, driver);
      await expectAllRead(store);
      // Where only the folder is read-only, SQLite needs more than to read the log.
      expect(how).toEqual(["a copy"]);
      await expectNothingWritten(copied, store);
      await store.close();
      asOneself();
      expect(around(copied)).toEqual(before);
    });
  });

  it("a file that another process writes is read in place, and what is written later is seen", async () => {
    const { path, writer, fence } = await written(driver);
    for (const end of ["", "-wal", "-shm"]) chmodSync(`${path}${end}`, 0o444);
    chmodSync(join(path, ".."), 0o555);
    asNobody();
    const { store, how } = looking(path, driver);
    await expectAllRead(store);
    expect(how).toEqual(["in place"]);
    await expectNothingWritten(path, store);
    asOneself();
    await writer.append("r", fence, [entry(3)]);
    asNobody();
    expect(await store.entries("r")).toHaveLength(3);
  });

  it("a file that was copied with all that was beside it is read", async () => {
    const { path } = await written(driver);
    const copied = join(newFolder(), "runs.db");
    for (const end of ["", "-wal", "-shm"]) {
      copyFileSync(`${path}${end}`, `${copied}${end}`);
      chmodSync(`${copied}${end}`, 0o444);
    }
    chmodSync(join(copied, ".."), 0o555);
    const before = around(copied);
    asNobody();
    const { store } = looking(copied, driver);
    await expectAllRead(store);
    await expectNothingWritten(copied, store);
    await store.close();
    asOneself();
    expect(around(copied)).toEqual(before);
  });

  it("a link to it leads to the log that is beside the file, not beside the link", async () => {
    const { path } = await written(driver);
    const copied = join(newFolder(), "runs.db");
    for (const end of ["", "-wal"]) copyFileSync(`${path}${end}`, `${copied}${end}`);
    chmodSync(copied, 0o444);
    const link = join(newFolder(), "link.db");
    symlinkSync(copied, link);
    asNobody();
    await expectAllRead(looking(link, driver).store);
  });

  it("leaves no copy behind, also where it cannot be read", async () => {
    const { path, writer } = await written(driver);
    await writer.close();
    const copies = (): string[] => readdirSync(tmpdir()).filter((name) => /^stepmark-\w{6}$/.test(name));
    const before = copies();
    chmodSync(path, 0o444);
    asNobody();
    const { store } = looking(path, driver);
    await expectAllRead(store);
    expect(copies()).toEqual(before);
    asOneself();
    const text = join(newFolder(), "runs.db");
    spawnSync("sh", ["-c", `echo "this is a text, and a long one: $(seq 1 5000)" > ${text}`]);
    chmodSync(text, 0o444);
    asNobody();
    expect((await failure(looking(text, driver).store.list({}))).code).toBe("STORE");
    expect(copies()).toEqual(before);
  });

  it("a file that may not even be read is refused, and one that may be written is written", async () => {
    const { path, writer } = await written(driver);
    await writer.close();
    const { store, how } = looking(path, driver);
    expect((await store.create(newRun("s"))).created).toBe(true);
    expect(how).toEqual([]);
    await store.close();
    chmodSync(path, 0o000);
    asNobody();
    const error = await failure(looking(path, driver).store.list({}));
    expect([error.code, existsSync(path)]).toEqual(["STORE", true]);
    expect(error.message).toMatch(/EACCES|permission/i);
  });

  it("an app's own store is opened to be written or not at all", async () => {
    const { path, writer } = await written(driver);
    await writer.close();
    chmodSync(path, 0o444);
    chmodSync(join(path, ".."), 0o555);
    asNobody();
    const store = sqliteStore(path, { driver });
    open.push(store);
    expect((await failure(store.list({}))).message).toMatch(/read and write the file, its folder/);
  });
});

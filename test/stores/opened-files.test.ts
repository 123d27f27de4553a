/** Files that are open, looked at once a commit: what is noticed, and how seldom the log itself is looked at. */
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it, vi } from "vitest";
import { OpenedFiles } from "../../runtime/stores/opened-files.js";

const root = realpathSync(mkdtempSync(join(tmpdir(), "stepmark-opened-")));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let folders = 0;

/** A database and its log in a folder of their own. */
function newFiles(): string {
  const folder = join(root, String(folders++));
  mkdirSync(folder);
  const path = join(folder, "runs.db");
  for (const end of ["", "-wal"]) writeFileSync(path + end, "");
  return path;
}

/** By default long after the folder was made, so that its times can be trusted. */
function opened(path: string, later = 60_000): { files: OpenedFiles; looks: () => number; gone: () => string[] } {
  const files = new OpenedFiles(path, () => Date.now() + later);
  const look = vi.spyOn(files.log, "isInPlace");
  return { files, looks: () => look.mock.calls.length, gone: () => files.gone().map((file) => file.path) };
}

const faults: Array<[what: string, make: (path: string) => void, gone: string[]]> = [
  ["the database is deleted", (path) => rmSync(path), [""]],
  ["the log is deleted", (path) => rmSync(`${path}-wal`), ["-wal"]],
  ["the log is moved away", (path) => renameSync(`${path}-wal`, `${path}-wal.aside`), ["-wal"]],
  [
    "the log is replaced",
    (path) => {
      copyFileSync(`${path}-wal`, `${path}-new`);
      renameSync(`${path}-new`, `${path}-wal`);
    },
    ["-wal"],
  ],
  ["the folder is moved away", (path) => renameSync(dirname(path), `${dirname(path)}.aside`), ["", "-wal"]],
  [
    "the folder is replaced by a copy with its times",
    (path) => {
      const folder = dirname(path);
      renameSync(folder, `${folder}.aside`);
      mkdirSync(folder);
      for (const end of ["", "-wal"]) copyFileSync(`${folder}.aside/runs.db${end}`, path + end);
    },
    ["", "-wal"],
  ],
];

describe("open files", () => {
  it.each(faults)("I4: %s: noticed at the next look, and at each one after", (_, make, ends) => {
    const path = newFiles();
    const { gone } = opened(path);
    expect([gone(), gone()]).toEqual([[], []]);
    make(path);
    const missing = ends.map((end) => path + end);
    expect([gone(), gone()]).toEqual([missing, missing]);
  });

  it.each(faults)("I4: %s, in the very moment in which the folder's times were read", (_, make, ends) => {
    const path = newFiles();
    // As if no time had passed since the folder last changed.
    const { gone, looks } = opened(path, -60_000);
    expect([gone(), gone()]).toEqual([[], []]);
    expect(looks()).toBe(2);
    make(path);
    expect(gone()).toEqual(ends.map((end) => path + end));
  });

  it("the log is not looked at while nothing in the folder changes, and again when something does", () => {
    const path = newFiles();
    const { gone, looks } = opened(path);
    for (let i = 0; i < 5; i++) expect(gone()).toEqual([]);
    expect(looks()).toBe(1);
    writeFileSync(`${path}.other`, "");
    for (let i = 0; i < 5; i++) expect(gone()).toEqual([]);
    expect(looks()).toBe(2);
  });

  it("times in whole seconds are trusted only after some", () => {
    const path = newFiles();
    const future = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 10_000);
    utimesSync(dirname(path), future, future);
    const soon = opened(path, future.getTime() + 1_000 - Date.now());
    for (let i = 0; i < 3; i++) expect(soon.gone()).toEqual([]);
    expect(soon.looks()).toBe(3);
    const late = opened(path, future.getTime() + 10_000 - Date.now());
    for (let i = 0; i < 3; i++) expect(late.gone()).toEqual([]);
    expect(late.looks()).toBe(1);
  });

  it("behind a symbolic link, the database is looked at each time: the link may be turned to another", () => {
    const path = newFiles();
    const other = newFiles();
    const folder = join(root, String(folders++));
    mkdirSync(folder);
    const link = join(folder, "linked.db");
    symlinkSync(path, link);
    const { gone } = opened(link);
    expect([gone(), gone()]).toEqual([[], []]);
    rmSync(link);
    symlinkSync(other, link);
    expect(gone()).toEqual([link]);
  });
});

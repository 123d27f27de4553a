/**
 * What becomes of runs when the disk under the SQLite store fails. In every case: the run rejects with an error that
 * tells the cure, nothing was seen that is not durable, and when the fault is gone the run is resumed and nothing that
 * was seen complete runs again.
 */
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { type Run, Stepmark, step, type Workflow, waitFor, workflow } from "stepmark";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { StepmarkError } from "../../runtime/errors.js";
import { sqliteStore } from "../../runtime/stores/sqlite.js";
import { type Connection, type DriverName, openDatabase } from "../../runtime/stores/sqlite-driver.js";
import type { Store } from "../../runtime/stores/store.js";
import { type Child, type Stage, stage } from "./child.js";

const folder = mkdtempSync(join(tmpdir(), "stepmark-disk-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let folders = 0;
/** A path in a folder of its own. */
const newFile = (): string => {
  const own = join(folder, String(folders++));
  mkdirSync(own);
  return join(own, "runs.db");
};

const loads = (driver: DriverName): boolean => {
  try {
    openDatabase(":memory:", driver).close();
    return true;
  } catch {
    return false;
  }
};
const drivers = (["node:sqlite", "better-sqlite3"] as const).filter(loads);

/** Rejections that nobody dealt with; there may be none. */
const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);
beforeAll(() => void process.on("unhandledRejection", note));
afterAll(() => void process.off("unhandledRejection", note));
afterEach(() => expect(unhandled.splice(0)).toEqual([]));

const id = "run";
/** Items whose bodies ran, and items whose outcome the workflow's code saw. */
let ran: string[] = [];
let seen: string[] = [];
let before: Record<string, () => void> = {};
let large = new Set<string>();

const work = (item: string): string => {
  ran.push(item);
  before[item]?.();
  return large.has(item) ? item.repeat(300_000) : item;
};

const items = ["a", "b", "c", "d"];
const flow = workflow("flow", async (list: string[]) => {
  for (const item of list) {
    await step(work, item);
    seen.push(item);
  }
  return list.length;
});

const startOver = (): void => {
  ran = [];
  seen = [];
  before = {};
  large = new Set();
};
afterEach(startOver);

const failureOf = async (result: Promise<unknown>): Promise<StepmarkError> => {
  const error = await result.then(
    (value) => expect.fail(`did not fail, but gave ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(StepmarkError);
  return error as StepmarkError;
};

/** The run goes on from what was seen, in a new app on the same file, and nothing that was seen runs again. */
async function resumed(store: Store): Promise<void> {
  const known = new Set(seen);
  ran = [];
  before = {};
  const app = new Stepmark({ store, workflows: [flow] });
  expect(await (await app.resume(id)).result()).toBe(items.length);
  expect(ran.filter((item) => known.has(item))).toEqual([]);
  expect(seen.slice(-items.length)).toEqual(items);
  await app.shutdown();
  await store.close();
}

const start = (app: Stepmark, of: Workflow<string[], number> = flow, as = id): Promise<Run<number>> =>
  app.start(of, items, { id: as });

describe.each(drivers)("a full disk (%s)", (driver) => {
  /** A store whose file may not grow, from when `fill` was called until `free` is. */
  const limited = (path: string) => {
    let connection: Connection | undefined;
    const store = sqliteStore(path, {
      driver: (file) => {
        connection = openDatabase(file, driver);
        return connection;
      },
    });
    const pages = (): number => (connection!.prepare("PRAGMA page_count").get() as { page_count: number }).page_count;
    return {
      store,
      fill: () => connection!.exec(`PRAGMA max_page_count = ${pages() + 4}`),
      free: () => connection!.exec("PRAGMA max_page_count = 1000000"),
    };
  };

  it("I4: rejects the run with the cure, and the same app resumes it when there is space", async () => {
    const { store, fill, free } = limited(newFile());
    const app = new Stepmark({ store, workflows: [flow] });
    before = { c: fill };
    large = new Set(["c"]);
    const run = await start(app);
    const error = await failureOf(run.result());
    expect(error).toMatchObject({ code: "STORE", runId: id, key: "flow/work@2" });
    expect(error.message).toMatch(/did not take the append: database or disk is full \(run "run", key flow\/work@2\)/);
    expect(error.message).toMatch(/Free space on its disk\. .*`resume` the run after that\. \[STORE\]$/);
    expect(seen).toEqual(["a", "b"]);
    expect((await app.entries(id)).map(({ key }) => key)).toEqual(["flow/work", "flow/work@1"]);
    free();
    large = new Set();
    ran = [];
    expect(await (await app.resume(id)).result()).toBe(items.length);
    expect(ran).toEqual(["c", "d"]);
    await app.shutdown();
    await store.close();
  });

  it("I4: another app of a living process resumes it when the first one has been able to give it up", async () => {
    const path = newFile();
    const { store, fill, free } = limited(path);
    const app = new Stepmark({ store, workflows: [flow] });
    before = { c: fill };
    large = new Set(["c"]);
    await failureOf((await start(app)).result());
    free();
    large = new Set();
    // The full disk did not even take it that the run was left; as soon as there is space, it does.
    await app.shutdown();
    await resumed(sqliteStore(path, { driver }));
    await store.close();
  });

  it("refuses what is too large for it, and other runs of the same tick go on", async () => {
    const { store, fill, free } = limited(newFile());
    const app = new Stepmark({ store, workflows: [flow] });
    let arrived = 0;
    let open: () => void;
    const both = new Promise<void>((resolve) => {
      open = resolve;
    });
    const pair = workflow("pair", async (list: string[]) => {
      await step(async () => {
        if (++arrived === 2) open();
        await both;
      });
      for (const item of list) {
        await step(async () => work(item));
        seen.push(item);
      }
      return list.length;
    });
    const [small, big] = [await app.start(pair, ["x"], { id: "small" }), await app.start(pair, ["y"], { id: "big" })];
    before = { x: fill, y: fill };
    large = new Set(["y"]);
    const error = await failureOf(big.result());
    expect(error).toMatchObject({ code: "STORE", runId: "big" });
    expect(await small.result()).toBe(1);
    expect(seen).toEqual(["x"]);
    free();
    await app.shutdown();
    await store.close();
  });

  it("does not take an answer, and says so to who gives it", async () => {
    const { store, fill, free } = limited(newFile());
    const asks = workflow("asks", () => waitFor<string>("approve"));
    const app = new Stepmark({ store, workflows: [asks] });
    const run = await app.start(asks, undefined, { id });
    await run.settled();
    fill();
    const answer = "y".repeat(100_000);
    expect(await failureOf(app.answer(id, "approve", answer))).toMatchObject({ code: "STORE", runId: id });
    free();
    await app.answer(id, "approve", answer);
    expect(await run.result()).toBe(answer);
    await app.shutdown();
    await store.close();
  });
});

describe("a connection that is stuck in a transaction", () => {
  it("I4: is given up, since what it takes would not be durable", async () => {
    const path = newFile();
    let failing = false;
    const store = sqliteStore(path, {
      driver: (file) => {
        const connection = openDatabase(file);
        return {
          prepare: (sql) => connection.prepare(sql),
          close: () => connection.close(),
          exec(sql) {
            if (failing && /COMMIT|ROLLBACK/.test(sql)) throw new Error("disk I/O error");
            return connection.exec(sql);
          },
        };
      },
    });
    before = {
      b() {
        failing = true;
      },
    };
    // A change of the run's record comes with each entry, so that it takes a transaction.
    const changing = new Proxy(store, {
      get(target, name: keyof Store) {
        const { append } = target;
        return name === "append"
          ? (...[run, fence, entries, change]: Parameters<typeof append>) =>
              append.call(target, run, fence, entries, { edited: [], ...change })
          : target[name].bind(target);
      },
    });
    const stuck = new Stepmark({ store: changing, workflows: [flow] });
    expect(await failureOf((await start(stuck)).result())).toMatchObject({ code: "STORE", runId: id });
    expect(seen).toEqual(["a"]);
    failing = false;
    await stuck.shutdown();
    await store.close();
    await resumed(sqliteStore(path));
  });
});

describe.each(drivers)("the file under a running process (%s)", (driver) => {
  const aside = (path: string): void => {
    for (const end of ["", "-wal", "-shm"]) renameSync(path + end, `${path}.aside${end}`);
  };
  const back = (path: string): void => {
    for (const end of ["", "-wal", "-shm"]) {
      rmSync(path + end, { recursive: true, force: true });
      renameSync(`${path}.aside${end}`, path + end);
    }
  };
  const faults: Array<[name: string, make: (path: string) => void]> = [
    ["is moved away", aside],
    [
      "is replaced by a directory",
      (path) => {
        aside(path);
        mkdirSync(path);
      },
    ],
    [
      "is replaced by another database",
      (path) => {
        aside(path);
        for (const end of ["", "-wal", "-shm"]) copyFileSync(`${path}.aside${end}`, path + end);
      },
    ],
    ["loses its folder", (path) => renameSync(dirname(path), `${dirname(path)}.aside`)],
  ];

  it.each(faults)("I4: %s: no outcome is seen any more, and the run goes on when it is back", async (_, make) => {
    const path = newFile();
    const store = sqliteStore(path, { driver });
    const app = new Stepmark({ store, workflows: [flow] });
    before = { c: () => make(path) };
    const error = await failureOf((await start(app)).result());
    expect(error).toMatchObject({ code: "STORE", runId: id });
    expect(error.message).toMatch(/was deleted, moved or replaced while the store was in use .*Put the file back/);
    expect(seen).toEqual(["a", "b"]);
    // Never on with a new file, where the run would be unknown and every other run a stranger.
    expect(await failureOf(app.resume(id))).toMatchObject({ code: "STORE" });
    expect(await failureOf(app.list())).toMatchObject({ code: "STORE" });
    expect(await failureOf(app.start(flow, items, { id: "other" }))).toMatchObject({ code: "STORE" });
    await app.shutdown();
    await store.close();
    if (make === faults[3]![1]) renameSync(`${dirname(path)}.aside`, dirname(path));
    else back(path);
    await resumed(sqliteStore(path, { driver }));
  });

  it("I4: loses its write-ahead log alone: that is told as well", async () => {
    const path = newFile();
    const store = sqliteStore(path, { driver });
    const app = new Stepmark({ store, workflows: [flow] });
    before = { c: () => rmSync(`${path}-wal`) };
    const error = await failureOf((await start(app)).result());
    expect(error.message).toContain(`${path}-wal was deleted`);
    expect(seen).toEqual(["a", "b"]);
    await app.shutdown();
    await store.close().catch(() => {});
  });
});

describe.each(drivers)("a path that is no database (%s)", (driver) => {
  const broken: Array<[name: string, make: (path: string) => void, says: RegExp]> = [
    ["a text", (path) => writeFileSync(path, "a text. ".repeat(500)), /not a database.*a file of stepmark's own/],
    ["a directory", (path) => mkdirSync(path), /unable to open|directory/],
    [
      "a file in a file",
      (path) => {
        rmSync(dirname(path), { recursive: true });
        writeFileSync(dirname(path), "");
      },
      /Check that the folder can be made/,
    ],
  ];

  it.each(broken)("%s: every call says so, with the cure, and leaves it as it is", async (_, make, says) => {
    const path = newFile();
    make(path);
    const store = sqliteStore(path, { driver });
    const app = new Stepmark({ store, workflows: [flow] });
    const calls = [start(app), app.resume(id), app.recover(), app.list(), app.get(id), app.cancel(id)];
    for (const error of await Promise.all(calls.map(failureOf))) {
      expect(error.code).toBe("STORE");
      expect(error.message).toMatch(says);
      expect(error.message).toMatch(/`resume` the run after that\. \[STORE\]$/);
    }
    await app.shutdown();
    await store.close();
    expect(ran).toEqual([]);
  });
});

/** A run of `flow` on a file that is then closed, with two of its four steps recorded. */
async function halfDone(path: string, driver?: DriverName): Promise<void> {
  const store = sqliteStore(path, driver ? { driver } : {});
  const app = new Stepmark({ store, workflows: [flow] });
  let stop: (() => void) | undefined;
  before = { c: () => stop?.() };
  large = new Set(["b"]);
  const stopped = new Promise<void>((resolve) => {
    stop = resolve;
  });
  await start(app);
  await stopped;
  await app.shutdown();
  await store.close();
  startOver();
  seen = ["a", "b"];
}

describe.each(drivers)("a database that is torn (%s)", (driver) => {
  it.each([
    ["cut within its last page", (path: string) => truncateSync(path, statSync(path).size - 2_000)],
    ["cut to its first page", (path: string) => truncateSync(path, 4_096)],
    ["with a first page of garbage", (path: string) => overwrite(path, 0, 4_096)],
  ])("%s is refused and left as it is, and restored goes on", async (_, tear) => {
    const path = newFile();
    await halfDone(path, driver);
    copyFileSync(path, `${path}.backup`);
    tear(path);
    const torn = readFileSync(path);
    const store = sqliteStore(path, { driver });
    const app = new Stepmark({ store, workflows: [flow] });
    const error = await failureOf(app.resume(id).then((run) => run.result()));
    expect(["STORE", "DAMAGED_JOURNAL"]).toContain(error.code);
    expect(error.message).toMatch(/malformed|not a database|not what was written|ends too early/);
    expect(error.message).toMatch(/restore the (file|store) from a backup/i);
    await app.shutdown();
    await store.close();
    expect(readFileSync(path)).toEqual(torn);
    for (const end of ["", "-wal", "-shm"]) rmSync(path + end, { force: true });
    copyFileSync(`${path}.backup`, path);
    await resumed(sqliteStore(path, { driver }));
  });

  it("I3: with any byte changed gives the right result or an error, never a wrong value", async () => {
    const path = newFile();
    const store = sqliteStore(path, { driver });
    const app = new Stepmark({ store, workflows: [echo] });
    const input = Array.from({ length: 40 }, (_, i) => `item ${i} `.repeat(20));
    expect(await (await app.start(echo, input, { id })).result()).toEqual(input);
    await app.shutdown();
    await store.close();
    const whole = readFileSync(path);
    const verdicts = new Set<string>();
    for (let at = 100; at < whole.length; at += 977) {
      const copy = Buffer.from(whole);
      copy[at] = copy[at]! ^ 0x04;
      for (const end of ["-wal", "-shm"]) rmSync(path + end, { force: true });
      writeFileSync(path, copy);
      verdicts.add(await verdictOn(path, driver, input));
    }
    verdicts.delete("right");
    expect([...verdicts].filter((code) => !["STORE", "DAMAGED_JOURNAL", "RUN_NOT_FOUND"].includes(code))).toEqual([]);
    expect(verdicts).toContain("DAMAGED_JOURNAL");
  });
});

const echo = workflow("echo", async (list: string[]) => {
  const out: string[] = [];
  for (const item of list) out.push(await step(same, item));
  return out;
});
const same = (item: string): string => item;

/** What a process finds in a file: the right result and journal, or the code of an error. */
async function verdictOn(path: string, driver: DriverName, input: readonly string[]): Promise<string> {
  const store = sqliteStore(path, { driver });
  const app = new Stepmark({ store, workflows: [echo] });
  try {
    const run = await store.read(id);
    if (run?.status !== "completed") return "RUN_NOT_FOUND";
    expect(await (await app.resume(id)).result()).toEqual(input);
    const values = (await app.entries(id)).map(({ value }) => (JSON.parse(value!) as string[])[0]);
    // An entry more or less is told when the run is resumed; here it has ended.
    expect(input).toEqual(expect.arrayContaining(values));
    return "right";
  } catch (error) {
    if (error instanceof StepmarkError) return error.code;
    throw error;
  } finally {
    await app.shutdown();
    await store.close().catch(() => {});
  }
}

function overwrite(path: string, from: number, length: number): void {
  const content = readFileSync(path);
  for (let i = 0; i < length; i++) content[from + i] = (i * 37 + 11) & 0xff;
  writeFileSync(path, content);
}

describe.each(drivers)("a lock that another holds (%s)", (driver) => {
  const impatient = (path: string, milliseconds: number): Store =>
    sqliteStore(path, {
      driver: (file) => {
        const connection = openDatabase(file, driver);
        return {
          prepare: (sql) => connection.prepare(sql),
          close: () => connection.close(),
          exec: (sql) => connection.exec(sql.replace(/busy_timeout = \d+/, `busy_timeout = ${milliseconds}`)),
        };
      },
    });

  it("I4: for longer than is waited for: the run rejects, and goes on once it is free", async () => {
    const path = newFile();
    const store = impatient(path, 20);
    const app = new Stepmark({ store, workflows: [flow] });
    let holder: Connection | undefined;
    before = {
      c() {
        holder = openDatabase(path, driver);
        holder.exec("BEGIN EXCLUSIVE");
      },
    };
    const error = await failureOf((await start(app)).result());
    expect(error).toMatchObject({ code: "STORE", runId: id, key: "flow/work@2" });
    expect(error.message).toMatch(/locked .*Another process holds its lock.*\[STORE\]$/);
    expect(seen).toEqual(["a", "b"]);
    holder!.exec("ROLLBACK");
    holder!.close();
    before = {};
    ran = [];
    expect(await (await app.resume(id)).result()).toBe(items.length);
    expect(ran).toEqual(["c", "d"]);
    await app.shutdown();
    await store.close();
  });

  it("for the file as a whole, from before it is opened: the same", async () => {
    const path = newFile();
    await halfDone(path, driver);
    const holder = openDatabase(path, driver);
    holder.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT");
    const store = impatient(path, 20);
    const app = new Stepmark({ store, workflows: [flow] });
    expect((await failureOf(app.resume(id))).message).toMatch(/locked .*Another process holds its lock/);
    holder.close();
    await app.shutdown();
    await resumed(store);
  });
});

describe("over processes", () => {
  let children: Stage;
  beforeAll(() => {
    children = stage();
  });
  afterAll(() => children.remove());

  /** `args`: database, file that bodies write to. Prints what the workflow's code sees, then how the run ended. */
  /** With a third argument it is killed when it has seen that step. */
  const process_ = `
    import { appendFileSync } from "node:fs";
    const [path, log, last] = args;
    const flow = workflow("flow", async () => {
      for (let i = 0; i < 40; i++) {
        await step({ key: "s" + i }, () => {
          appendFileSync(log, i + "\\n");
          return "x".repeat(20000);
        });
        console.log("seen " + i);
        if (String(i) === last) process.kill(process.pid, "SIGKILL");
      }
      return "done";
    });
    const app = new Stepmark({ store: sqliteStore(path), workflows: [flow] });
    try {
      const run = await app.start(flow, undefined, { id: "run" });
      console.log("ended " + (await run.result()));
    } catch (error) {
      console.log("failed " + JSON.stringify({ code: error.code, runId: error.runId, key: error.key, message: error.message }));
    }
    await app.shutdown().catch((error) => console.log("shutdown " + error.code));`;

  const read = async (child: Child): Promise<{ seen: string[]; end: string; code: number | null; errors: string }> => {
    const lines: string[] = [];
    for (let line = await child.line(); line !== undefined; line = await child.line()) lines.push(line);
    const seen = lines.filter((line) => line.startsWith("seen ")).map((line) => line.slice(5));
    return { seen, end: lines.find((line) => /^(ended|failed) /.test(line)) ?? "", ...(await child.ended()) };
  };

  /** A process on a disk that is full at some point, then one on a disk with space. */
  const fillAndResume = async (first: Child, path: string, log: string, free: () => void, says: RegExp) => {
    const full = await read(first);
    expect({ code: full.code, errors: full.errors }).toEqual({ code: 0, errors: "" });
    expect(full.end).toMatch(/^failed /);
    const error = JSON.parse(full.end.slice(7)) as StepmarkError;
    expect(error).toMatchObject({ code: "STORE", runId: "run" });
    expect(error.message).toMatch(says);
    expect(full.seen.length).toBeGreaterThan(0);
    free();
    const rest = await read(children.start(process_, path, log));
    expect({ end: rest.end, code: rest.code, errors: rest.errors }).toEqual({ end: "ended done", code: 0, errors: "" });
    const bodies = readFileSync(log, "utf8").trim().split("\n");
    for (const step of full.seen) expect(bodies.filter((each) => each === step)).toHaveLength(1);
    expect(new Set(bodies).size).toBe(40);
  };

  it("I4: files that may not grow any further (a limit of the process): rejected, then resumed", async () => {
    const path = newFile();
    const log = join(dirname(path), "log");
    writeFileSync(log, "");
    await fillAndResume(children.startLimited(600, process_, path, log), path, log, () => {}, /disk.*full|I\/O error/);
  });

  it("I4: a file system that is full: rejected, then resumed", async ({ skip }) => {
    const disk = join(folder, "disk");
    mkdirSync(disk);
    // Needs a Linux, and the rights of root.
    if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=400k", "tmpfs", disk]).status !== 0) skip();
    const log = join(folder, "disk-log");
    const free = (): void => expect(spawnSync("mount", ["-o", "remount,size=20m", disk]).status).toBe(0);
    try {
      writeFileSync(log, "");
      const path = join(disk, "runs.db");
      await fillAndResume(children.start(process_, path, log), path, log, free, /is full .*Free space on its disk/);
    } finally {
      spawnSync("umount", [disk]);
    }
  });

  /** As `process_`, without the rights of root, which nothing is read-only for. */
  const unprivileged = `
    await sqliteStore(":memory:").list({});
    if (process.getuid?.() === 0) {
      process.setegid(65534);
      process.seteuid(65534);
    }
    ${process_}`;

  it.skipIf(process.platform === "win32").each([
    ["file", 0o444, 0o777],
    ["file and its folder", 0o444, 0o555],
    ["folder", 0o666, 0o555],
  ])(
    "a read-only %s: the cure is told, nothing runs, and the run goes on when it is writable",
    async (_, file, own) => {
      const path = newFile();
      const log = join(folder, `log${folders}`);
      writeFileSync(log, "");
      chmodSync(log, 0o666);
      chmodSync(folder, 0o755);
      expect((await read(children.start(process_, path, log, "3"))).seen.at(-1)).toBe("3");
      // Put in order, so that no log is beside it.
      await sqliteStore(path).list({});
      const store = sqliteStore(path);
      await store.list({});
      await store.close();
      const before = readFileSync(log, "utf8");
      chmodSync(path, file);
      chmodSync(dirname(path), own);
      const refused = await read(children.start(unprivileged, path, log));
      chmodSync(dirname(path), 0o777);
      chmodSync(path, 0o666);
      expect({ code: refused.code, errors: refused.errors }).toEqual({ code: 0, errors: "" });
      const error = JSON.parse(refused.end.slice(7)) as StepmarkError;
      expect(error).toMatchObject({ code: "STORE", runId: "run" });
      expect(error.message).toMatch(/readonly database|unable to open/);
      expect(error.message).toMatch(/read and write the file, its folder/);
      expect(readFileSync(log, "utf8")).toBe(before);
      const rest = await read(children.start(process_, path, log));
      expect(rest.end).toBe("ended done");
      for (const step of ["0", "1", "2", "3"])
        expect(
          readFileSync(log, "utf8")
            .split("\n")
            .filter((each) => each === step),
        ).toHaveLength(1);
    },
  );

  describe("a write-ahead log that a killed process left", () => {
    const frame = 24 + 4_096;
    const tears: Array<[name: string, tear: (wal: string) => void, lost: boolean]> = [
      ["with garbage after it", (wal) => appendFileSync(wal, Buffer.alloc(5_000, 0xab)), false],
      [
        "with half a frame after it",
        (wal) => appendFileSync(wal, readFileSync(wal).subarray(-frame, -frame / 2)),
        false,
      ],
      ["with a frame once more after it", (wal) => appendFileSync(wal, readFileSync(wal).subarray(-frame)), false],
      // No crash does this to what was acknowledged, only a disk that said it had written.
      ["cut within its last frame", (wal) => truncateSync(wal, statSync(wal).size - frame / 2), true],
    ];

    it.each(tears)("%s: the journal is a beginning of what was written, and goes on", async (_, tear, lost) => {
      const path = newFile();
      const log = join(dirname(path), "log");
      writeFileSync(log, "");
      const last = Number((await read(children.start(process_, path, log, "9"))).seen.at(-1));
      expect(last).toBe(9);
      tear(`${path}-wal`);
      const store = sqliteStore(path);
      const seqs = (await store.entries("run")).map(({ seq }) => seq);
      expect(seqs).toEqual(seqs.map((_, index) => index + 1));
      if (!lost) expect(seqs.length).toBeGreaterThan(last);
      await store.close();
      const rest = await read(children.start(process_, path, log));
      expect({ end: rest.end, code: rest.code, errors: rest.errors }).toEqual({
        end: "ended done",
        code: 0,
        errors: "",
      });
      const bodies = readFileSync(log, "utf8").trim().split("\n");
      for (let i = 0; i < seqs.length; i++) expect(bodies.filter((each) => each === String(i))).toHaveLength(1);
    });
  });

  it("a lock that another process holds for shorter than is waited for is waited for", async () => {
    const path = newFile();
    const log = join(dirname(path), "log");
    writeFileSync(log, "");
    await sqliteStore(path).list({});
    const holder = children.start(
      `import { createRequire } from "node:module";
       const sqlite = process.getBuiltinModule?.("node:sqlite")?.DatabaseSync ?? createRequire(import.meta.url)("better-sqlite3");
       const connection = new sqlite(args[0]);
       connection.exec("BEGIN IMMEDIATE");
       console.log("held");
       process.stdin.once("data", () => {
         connection.exec("COMMIT");
         process.exit();
       });`,
      path,
    );
    expect(await holder.line()).toBe("held");
    const child = children.start(process_.replace("try {", 'console.log("begins"); try {'), path, log);
    expect(await child.line()).toBe("begins");
    holder.process.stdin!.write("go");
    expect(await read(child)).toMatchObject({ end: "ended done", code: 0, errors: "" });
  });
});

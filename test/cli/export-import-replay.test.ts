/** `stepmark export`, `import` and `replay`, run as the program that npm installs, over builds of one application. */
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { installPackage } from "../hosts/project.js";

const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "stepmark-runs-")));
const program = path.join(folder, "node_modules/stepmark/dist/cli/main.js");

const flows = (body: string, more = ""): string => `import { changed, step, waitFor, workflow } from "stepmark";
import { appendFileSync } from "node:fs";
const note = async (label) => { appendFileSync("bodies.txt", label + "\\n"); return label; };
export const order = workflow("order", async (input) => {
${body}
});
${more}`;
const charge = 'const paid = await step("charge", note, "charge");';
const rest = 'await waitFor("go"); return [paid, await step("ship", note, "ship")];';
const main = `import { Stepmark } from "stepmark";
import { sqliteStore } from "stepmark/sqlite";
import { order } from "./flows.js";
const [file, action, id] = process.argv.slice(2);
const app = new Stepmark({ store: sqliteStore(file), workflows: [order] });
const run = action === "start" ? await app.start(order, { card: "4242" }, { id }) : await app.resume(id);
if (action === "finish") await app.answer(id, "go", true);
console.log(JSON.stringify((action === "finish" ? await run.result() : await run.settled())));
await app.shutdown();
`;

beforeAll(() => {
  mkdirSync(path.join(folder, "node_modules"));
  installPackage(path.join(folder, "node_modules"));
  write("package.json", '{ "type": "module" }');
  make("v1", flows(charge + rest));
  make("inserted", flows(`await step("audit", note, "audit"); ${charge}${rest}`));
  make("renamed", flows(`const paid = await step("pay", note, "charge"); ${rest}`));
  make("versioned", flows(`${charge} if (await changed("v2")) await step("extra", note, "extra"); ${rest}`));
  make("open", flows(charge + rest, "setInterval(() => {}, 1_000); export const codec = { encode: 1 };"));
  write("null.json", "[null]");
  make("without", `import { workflow } from "stepmark"; export const other = workflow("other", async () => 1);`);
  for (const id of ["one", "two", "done"]) app("v1", "start", id);
  app("v1", "finish", "done");
  rmSync(path.join(folder, "bodies.txt"));
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, text: string): void {
  mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
  writeFileSync(path.join(folder, name), text);
}

const read = (name: string): string => readFileSync(path.join(folder, name), "utf8");

/** A build of the application, whose sources are at the same place each time. */
function make(name: string, source: string): void {
  write("src/flows.js", source);
  write("src/main.js", main);
  expect(stepmark("transform", "src", "--out", name).status).toBe(0);
}

interface Ended {
  stdout: string;
  stderr: string;
  status: number | null;
}

function node(...args: string[]): Ended {
  return spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8", timeout: 30_000 });
}

const stepmark = (...args: string[]): Ended => node(program, ...args);

function app(build: string, action: string, id: string, store = "runs.db"): string {
  const { stdout, stderr, status } = node(`${build}/main.js`, store, action, id);
  expect({ stderr, status }).toEqual({ stderr: expect.not.stringContaining("Error"), status: 0 });
  return stdout;
}

const bodies = (): string => (existsSync(path.join(folder, "bodies.txt")) ? read("bodies.txt") : "");

describe("stepmark export and import", () => {
  it("take runs from one store to another, where they go on", () => {
    const { stdout, status } = stepmark("export", "--store", "runs.db");
    expect(status).toBe(0);
    const lines = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, { id?: string }>);
    expect(lines.flatMap(({ run }) => run?.id ?? []).sort()).toEqual(["done", "one", "two"]);
    write("runs.jsonl", stdout);
    expect(stepmark("import", "runs.jsonl", "--store", "new/runs.db")).toMatchObject({
      status: 0,
      stdout: "3 runs imported from runs.jsonl\n",
    });
    expect(stepmark("export", "--store", "new/runs.db").stdout).toBe(stdout);
    expect(app("v1", "finish", "one", "new/runs.db")).toBe('["charge","ship"]\n');
    expect(bodies()).toBe("ship\n");
    rmSync(path.join(folder, "bodies.txt"));
  });

  it("write over nothing, and take no file that is cut off", () => {
    write("two.jsonl", stepmark("export", "two", "--store", "runs.db").stdout);
    const again = stepmark("import", "two.jsonl", "--store", "new/runs.db");
    expect(again).toMatchObject({ status: 1, stdout: "" });
    expect(again.stderr).toMatch(/^stepmark import: The store holds a run with this id.*\[RUN_EXISTS\]\n$/);
    write("half.jsonl", read("two.jsonl").slice(0, -200));
    const half = stepmark("import", "half.jsonl", "--store", "half.db");
    expect(half).toMatchObject({ status: 1, stderr: expect.stringContaining("[EXPORT_FILE]") });
    expect(existsSync(path.join(folder, "half.db"))).toBe(false);
  });

  it("leave values out if they are told to", () => {
    const { stdout } = stepmark("export", "one", "--no-values", "--store", "runs.db");
    expect(stdout).toContain('"key":"order/charge"');
    expect(stdout).not.toContain("4242");
    write("bare.jsonl", stdout);
    expect(stepmark("import", "bare.jsonl", "--store", "bare.db").stderr).toContain("[VALUES_LEFT_OUT]");
    const replayed = stepmark("replay", "bare.jsonl", "--workflows", "v1/flows.js");
    expect(replayed).toMatchObject({ status: 1, stdout: expect.stringContaining("cannot be replayed") });
  });

  it("prune: what is archived comes back as it was, with its large values", () => {
    const store = ["--store", "pruned/runs.db"];
    stepmark("import", "runs.jsonl", ...store);
    mkdirSync(path.join(folder, "pruned/blobs"));
    app("v1", "finish", "two", "pruned/runs.db");
    expect(stepmark("prune", ...store).status).toBe(2);
    expect(stepmark("prune", "--older-than", "1h", ...store)).toMatchObject({ status: 0, stdout: "" });
    const wanted = ["prune", "--older-than", "0s", ...store];
    expect(stepmark(...wanted, "--dry-run")).toMatchObject({
      stdout: "two\ndone\n",
      stderr: "2 runs would be deleted.\n",
    });
    const before = stepmark("export", "two", "done", ...store).stdout;
    expect(stepmark(...wanted, "--archive", "old-runs")).toMatchObject({ status: 0, stdout: "two\ndone\n" });
    expect(stepmark("export", ...store).stdout).not.toContain('"id":"two"');
    const [archived] = readdirSync(path.join(folder, "old-runs"));
    expect(read(`old-runs/${archived}`)).toBe(before);
    expect(stepmark("import", `old-runs/${archived}`, ...store).status).toBe(0);
    expect(stepmark("export", "two", "done", ...store).stdout).toBe(before);
    rmSync(path.join(folder, "bodies.txt"));
  });

  it("take over a flat history if it leaves no doubt", () => {
    const history = { id: "old", workflow: "order", input: 1, steps: [{ name: "charge", value: "paid" }] };
    write("flat.json", JSON.stringify(history));
    const from = ["--workflows", "v1/flows.js", "--store", "flat.db"];
    expect(stepmark("import", "--flat", "flat.json", ...from)).toMatchObject({
      status: 0,
      stdout: '1 steps of "old" imported from flat.json\n',
    });
    expect(app("v1", "finish", "old", "flat.db")).toBe('["paid","ship"]\n');
    write("other.json", JSON.stringify([{ ...history, id: "x", steps: [{ name: "ship", value: 1 }] }]));
    const refused = stepmark("import", "--flat", "other.json", ...from);
    expect(refused.status).toBe(1);
    expect(refused.stderr).toMatch(
      /^stepmark import: The history is not imported, at step 1 of 1: .*\[FLAT_HISTORY\]\n$/,
    );
    write("unknown.json", JSON.stringify({ ...history, id: "x", workflow: "none" }));
    expect(stepmark("import", "--flat", "unknown.json", ...from).stderr).toContain("[UNKNOWN_WORKFLOW]");
    rmSync(path.join(folder, "bodies.txt"));
  });
});

describe("stepmark replay", () => {
  it("goes through exported runs with a build that can go on with them", () => {
    write("all/runs.jsonl", stepmark("export", "--store", "runs.db").stdout);
    const lines = (build: string, ...args: string[]): string[] => {
      const { stdout, status, stderr } = stepmark("replay", ...args, "--workflows", `${build}/flows.js`);
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      return stdout.trimEnd().split("\n").sort();
    };
    const waits = (id: string): string =>
      `ok  ${id} (order): 1 hit; goes on with the wait \`go\` (src/flows.js:5, key order/go)`;
    const [total, all] = ["3 replayed, and this build can go on with them", [waits("one"), waits("two")]];
    const ended = "ok  done (order): 3 hits; returns";
    expect(lines("v1", "all")).toEqual([total, ended, ...all]);
    expect(lines("v1", "all/runs.jsonl")).toEqual([total, ended, ...all]);
    expect(lines("inserted", "two", "--store", "runs.db")).toEqual([
      "1 replayed, and this build can go on with them",
      "ok  two (order): 0 hits; 2 not reached: order/charge, order/go; goes on with the new step `audit` (src/flows.js:5, key order/audit)",
    ]);
    expect(lines("versioned", "--store", "runs.db")[1]).toContain('changed("v2") is false');
    // Without any name: what is in flight in the store that all commands look at.
    const home = path.join(folder, ".stepmark");
    mkdirSync(home);
    for (const file of readdirSync(folder).filter((name) => name.startsWith("runs.db")))
      copyFileSync(path.join(folder, file), path.join(home, file));
    expect(lines("v1")).toEqual(["2 replayed, and this build can go on with them", ...all]);
    rmSync(home, { recursive: true });
  });

  it("ends with 1 for a build that cannot, and says why as a resume would", () => {
    const before = stepmark("export", "--store", "runs.db").stdout;
    const { stdout, status } = stepmark("replay", "--store", "runs.db", "--workflows", "renamed/flows.js");
    expect(status).toBe(1);
    expect(stdout).toContain("2 of 2 cannot be gone on with");
    expect(stdout).toMatch(
      /^FAILS {2}two \(order\): 0 hits; .*refused: .*`charge` \(src\/flows\.js:5\).*\[RETIRED_SITE\]$/m,
    );
    const told = stepmark("replay", "two", "--store", "runs.db", "--workflows", "renamed/flows.js", "--json");
    expect(JSON.parse(told.stdout)).toMatchObject({
      ...{ runId: "two", workflow: "order", ok: false, end: "refused", next: [] },
      error: { code: "RETIRED_SITE", message: expect.stringContaining("charge") },
    });
    const accepted = ["--accept", "edits", "--json"];
    expect(stepmark("replay", "two", "--store", "runs.db", "--workflows", "renamed/flows.js", ...accepted).status).toBe(
      0,
    );
    expect([stepmark("export", "--store", "runs.db").stdout, bodies()]).toEqual([before, ""]);
  });

  it("ends, though the module keeps the process open, and tells of a workflow that it does not have", () => {
    expect(stepmark("replay", "all", "--workflows", "open/flows.js").status).toBe(0);
    const { stdout, status } = stepmark("replay", "all", "--workflows", "without/flows.js");
    expect(status).toBe(1);
    expect(stdout).toMatch(/No workflow named "order" is registered \(known: "other"\).*\[UNKNOWN_WORKFLOW\]/);
  });
});

describe("a command line that makes no sense", () => {
  it.each([
    [["export", "--store", "none.db"], "there is no store none.db"],
    [["export", "--values"], "--values"],
    [["import"], "a file has to be named"],
    [["import", "none.jsonl"], "there is no file none.jsonl"],
    [["import", "--flat", "flat.json"], "--workflows has to name"],
    [["import", "x", "--flat", "flat.json", "--workflows", "v1/flows.js"], "--flat takes one file"],
    [["import", "--flat", "package.json.none", "--workflows", "v1/flows.js"], "there is no file"],
    [["import", "--flat", "v1/flows.js", "--workflows", "v1/flows.js"], "holds no JSON"],
    [["import", "--flat", "null.json", "--workflows", "v1/flows.js"], "holds something else than histories"],
    [["replay", "all"], "--workflows has to name"],
    [["replay", "--workflows", "v1/flows.js"], "there is no store ./.stepmark/runs.db"],
    [["replay", "all", "--workflows", "none.js"], "there is no module none.js"],
    [["replay", "all", "--workflows", "v1/flows.js", "--accept", "all"], '--accept takes "edits"'],
    [["replay", "no-such-run", "--workflows", "v1/flows.js"], "there is no store ./.stepmark/runs.db"],
    [["replay", "v1", "--workflows", "v1/flows.js"], "v1 holds no .jsonl files"],
    [["replay", "all", "--workflows", "node_modules/stepmark/dist/runtime/stores/sqlite.js"], "exports no workflow"],
  ])("%j ends with 2 and says why", (args, message) => {
    const { status, stderr } = stepmark(...args);
    expect(stderr).toContain(message);
    expect(stderr).toContain(`Usage: stepmark ${args[0]}`);
    expect(status).toBe(2);
    expect(existsSync(path.join(folder, "none.db"))).toBe(false);
  });

  it("and a run that is not there ends with 1", () => {
    expect(stepmark("export", "none", "--store", "runs.db")).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("[RUN_NOT_FOUND]"),
    });
    for (const command of ["export", "import", "replay"])
      expect(stepmark(command, "--help").stdout).toContain("--store FILE");
  });
});

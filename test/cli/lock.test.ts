/**
 * Scenarios E, end to end: a build of v1 is killed in the middle of a run, the code is edited, and a build of v2 resumes the run.
 * With the lock file's commands as npm installs them.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { build } from "esbuild";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import stepmark from "../../transformer/hosts/esbuild.js";
import { installPackage } from "../hosts/project.js";

const base = realpathSync(mkdtempSync(path.join(tmpdir(), "stepmark-lock-cli-")));
let folder = "";
let projects = 0;

beforeAll(() => {
  mkdirSync(path.join(base, "node_modules"));
  installPackage(path.join(base, "node_modules"));
}, 60_000);
afterAll(() => rmSync(base, { recursive: true, force: true }));
beforeEach(() => {
  folder = path.join(base, `project${++projects}`);
  write("package.json", '{ "type": "module" }');
  write("src/main.ts", main);
  git("init", "-q");
});

const main = `import { appendFileSync } from "node:fs";
import { Stepmark } from "stepmark";
import { order } from "./flow.ts";
const app = new Stepmark({ workflows: [order], grace: 100 });
const [, , mode] = process.argv;
try {
  const run = mode === "start" ? await app.start(order, 7, { id: "order-7" }) : await app.resume("order-7");
  console.log(JSON.stringify({ output: await run.result(), orphans: (await app.get("order-7")).orphans }));
} catch (error) {
  console.log(JSON.stringify({ code: (error as { code?: string }).code, message: (error as Error).message }));
}
await app.shutdown();
`;

const bodies = `import { appendFileSync, existsSync } from "node:fs";
export async function work(label: string): Promise<string> {
  appendFileSync("bodies.log", label + "\\n");
  if (label === process.env.KILL_IN) process.kill(process.pid, "SIGKILL");
  return label;
}
`;

function write(name: string, text: string): void {
  mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
  writeFileSync(path.join(folder, name), text);
}

function git(...args: string[]): void {
  const { status, stderr } = spawnSync("git", args, { cwd: folder, encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
}

/** Writes the flow, with its bodies. */
function flow(body: string, before = "", bodiesOf = "charge mail ship audit"): void {
  const steps = bodiesOf.split(" ").map((name) => `const ${name} = (n: number) => work("${name} " + n);\n`);
  write("src/bodies.ts", bodies);
  write(
    "src/flow.ts",
    `import { step, workflow } from "stepmark";\nimport { work } from "./bodies.ts";\n${steps.join("")}${before}` +
      `export const order = workflow("order", async (n: number) => {\n${body}\n});\n`,
  );
}

async function compile(out: string): Promise<string> {
  await build({
    entryPoints: [path.join(folder, "src/main.ts")],
    outfile: path.join(folder, out),
    bundle: true,
    packages: "external",
    format: "esm",
    platform: "node",
    absWorkingDir: folder,
    minify: true,
    plugins: [stepmark()],
  });
  return out;
}

interface End {
  output?: unknown;
  orphans?: string[];
  code?: string;
  message?: string;
  /** The bodies that this process ran. */
  ran: string[];
}

function run(program: string, mode: "start" | "resume", killIn = ""): End {
  write("bodies.log", "");
  const { stdout, stderr, signal } = spawnSync(process.execPath, [program, mode], {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, KILL_IN: killIn },
  });
  const ran = readFileSync(path.join(folder, "bodies.log"), "utf8").split("\n").slice(0, -1);
  if (killIn !== "") {
    expect({ signal, stderr }).toMatchObject({ signal: "SIGKILL" });
    return { ran };
  }
  if (stdout === "") throw new Error(stderr);
  return { ...(JSON.parse(stdout) as Omit<End, "ran">), ran };
}

function command(...args: string[]): { stdout: string; stderr: string; status: number | null } {
  const program = path.join(base, "node_modules/stepmark/dist/cli/main.js");
  return spawnSync(process.execPath, [program, ...args], { cwd: folder, encoding: "utf8" });
}

/** v1 is built, committed, and killed in a body. */
async function killed(lock: "with a lock file" | "without", killIn: string): Promise<void> {
  if (lock === "with a lock file") expect(command("accept")).toMatchObject({ status: 0 });
  git("add", "-A");
  git("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "v1");
  run(await compile("v1.mjs"), "start", killIn);
}

const resumed = async (): Promise<End> => run(await compile("v2.mjs"), "resume");
const v1 = (): void =>
  flow("const a = await step(charge, n);\nconst b = await step(mail, n);\nreturn [a, b, await step(ship, n)];");

describe("E1: what changes no call", () => {
  it.each(["with a lock file", "without"] as const)("%s: every key is kept", async (lock) => {
    v1();
    await killed(lock, "ship 7");
    flow(
      "// note\n  const paid = await step( charge , n );\n\n  const b = (await step(mail, n)) as string;\n  return [paid, b, await step(ship, n)];",
    );
    write("src/flow.ts", `// moved down\nimport "node:fs";\n${readFileSync(path.join(folder, "src/flow.ts"), "utf8")}`);
    if (lock === "with a lock file") expect(command("check").status).toBe(0);
    expect(command("diff", "HEAD").status).toBe(0);
    expect(await resumed()).toMatchObject({ output: ["charge 7", "mail 7", "ship 7"], ran: ["ship 7"] });
  });
});

describe("E2: another call inserted, two swapped, code wrapped", () => {
  it.each(["with a lock file", "without"] as const)("%s: results stay with their calls", async (lock) => {
    v1();
    await killed(lock, "ship 7");
    flow(
      "await step(audit, n);\ntry {\nconst b = await step(mail, n);\nconst a = await step(charge, n);\nreturn [a, b, await step(ship, n)];\n} finally {}",
    );
    expect(await resumed()).toMatchObject({ output: ["charge 7", "mail 7", "ship 7"], ran: ["audit 7", "ship 7"] });
  });
});

describe("E3: a second call of one name before a recorded one", () => {
  const v2 = (): void =>
    flow(
      "const first = await step(charge, 0);\nconst a = await step(charge, n);\nreturn [a, await step(mail, n), first];",
    );

  it("is refused without the lock file, before any body runs", async () => {
    v1();
    await killed("without", "mail 7");
    v2();
    expect(await resumed()).toMatchObject({ code: "AMBIGUOUS_SITE", ran: [] });
  });

  it("is kept with it", async () => {
    v1();
    await killed("with a lock file", "mail 7");
    v2();
    expect(command("check")).toMatchObject({
      status: 1,
      stdout: expect.stringContaining("new       src/flow.ts:8  charge in order()"),
    });
    expect(await resumed()).toMatchObject({ output: ["charge 7", "mail 7", "charge 0"], ran: ["charge 0", "mail 7"] });
  });
});

describe("E4: a step that is removed", () => {
  const v2 = (): void => flow("const a = await step(charge, n);\nreturn [a, await step(ship, n)];");

  it("is refused without the lock file, and before it is accepted; the diff names the run", async () => {
    v1();
    await killed("with a lock file", "ship 7");
    v2();
    const { stdout, status } = command("diff", "HEAD", "--store", ".stepmark/runs.db");
    expect(stdout).toContain("refused   src/flow.ts  mail in order()  is gone");
    expect(stdout).toContain("order-7  order  running  mail (src/flow.ts:9)");
    expect(status).toBe(1);
    expect(await resumed()).toMatchObject({ code: "RETIRED_SITE", ran: [] });
  });

  it("is an orphan once that is accepted, and not without a word", async () => {
    v1();
    await killed("with a lock file", "ship 7");
    v2();
    expect(command("accept")).toMatchObject({
      status: 1,
      stdout: expect.stringContaining("gone      src/flow.ts  mail in order()"),
      stderr: expect.stringContaining("Nothing was written"),
    });
    expect(command("accept", "--yes")).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("gone      src/flow.ts  mail in order()"),
    });
    expect(command("check").status).toBe(0);
    expect(command("diff", "HEAD").status).toBe(0);
    expect(await resumed()).toMatchObject({ output: ["charge 7", "ship 7"], ran: ["ship 7"], orphans: ["order/mail"] });
  });
});

describe("E5: a callee renamed and its call moved into a helper", () => {
  const v2 = (): void =>
    flow(
      "const a = await pay(n);\nconst b = await step(mail, n);\nreturn [a, b, await step(ship, n)];",
      "const pay = async (n: number) => step(debit, n);\n",
      "debit mail ship audit",
    );

  it("is refused without the lock file, and nothing is done again", async () => {
    v1();
    await killed("without", "ship 7");
    v2();
    expect(await resumed()).toMatchObject({ code: expect.stringMatching(/RETIRED_SITE|AMBIGUOUS_SITE/), ran: [] });
  });

  it("asks, and is kept once that is accepted", async () => {
    v1();
    await killed("with a lock file", "ship 7");
    v2();
    const before = readFileSync(path.join(folder, "stepmark.lock"), "utf8");
    expect(command("accept")).toMatchObject({
      status: 1,
      stdout: expect.stringContaining("debit in pay{}  was charge in order()"),
    });
    expect(readFileSync(path.join(folder, "stepmark.lock"), "utf8")).toBe(before);
    expect(command("accept", "--yes").status).toBe(0);
    expect(await resumed()).toMatchObject({ output: ["charge 7", "mail 7", "ship 7"], ran: ["ship 7"] });
  });
});

it("E6: a branch that flips in unchanged code is a divergence that names both sites, before any body runs", async () => {
  flow(
    "const first = process.env.FLAG ? await step(audit, n) : await step(charge, n);\nreturn [first, await step(mail, n)];",
  );
  await killed("with a lock file", "mail 7");
  process.env.FLAG = "1";
  try {
    const end = await resumed();
    expect(end).toMatchObject({ code: "DIVERGENCE", ran: [] });
    expect(end.message).toMatch(/`charge` \(src\/flow\.ts:8\)/);
    expect(end.message).toMatch(/`audit` \(src\/flow\.ts:8\)/);
  } finally {
    delete process.env.FLAG;
  }
});

describe("stepmark check", () => {
  it("tells of a place with the identity of one that is gone, and of a merge's conflict", () => {
    v1();
    command("accept");
    flow("const a = await step(charge, n);\nreturn [a, await step(ship, n)];");
    command("accept", "--yes");
    const file = path.join(folder, "stepmark.lock");
    const lock = readFileSync(file, "utf8");
    const gone = lock.split("\n").find((line) => line.endsWith(" retired"))!;
    writeFileSync(file, lock.replace(gone, `${gone}\n${gone.replace(" retired", "")}`));
    expect(command("check")).toMatchObject({
      status: 1,
      stdout: expect.stringContaining("duplicate src/flow.ts  mail"),
    });
    writeFileSync(file, `${lock}<<<<<<< HEAD\n`);
    expect(command("check")).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/a merge has left a conflict.*\[LOCK_FILE\]/),
    });
    expect(command("sites")).toMatchObject({ status: 1 });
  });

  it("says what to do where there is no lock file, and writes the same one on every machine", () => {
    v1();
    expect(command("check")).toMatchObject({ status: 1, stderr: expect.stringContaining("Run `stepmark accept`") });
    command("accept");
    const first = readFileSync(path.join(folder, "stepmark.lock"), "utf8");
    command("accept");
    expect(readFileSync(path.join(folder, "stepmark.lock"), "utf8")).toBe(first);
    const elsewhere = folder;
    folder = path.join(base, "elsewhere", "deep");
    write("package.json", '{ "type": "module" }');
    v1();
    // With other line ends, too.
    write("src/flow.ts", readFileSync(path.join(elsewhere, "src/flow.ts"), "utf8").replaceAll("\n", "\r\n"));
    command("accept");
    expect(readFileSync(path.join(folder, "stepmark.lock"), "utf8")).toBe(first);
    folder = elsewhere;
  });
});

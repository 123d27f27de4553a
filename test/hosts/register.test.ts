/** `node --import stepmark/register` in a project of a few files. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { installPackage } from "./project.js";

const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "stepmark-register-")));

beforeAll(() => {
  mkdirSync(path.join(folder, "node_modules"));
  installPackage(path.join(folder, "node_modules"));
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function project(name: string, files: Record<string, string>): string {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name, file)), { recursive: true });
    writeFileSync(path.join(folder, name, file), text);
  }
  return path.join(folder, name);
}

function node(cwd: string, ...args: string[]): { stdout: string; stderr: string; status: number | null } {
  return spawnSync(process.execPath, ["--import", "stepmark/register", ...args], { cwd, encoding: "utf8" });
}

const paths = `console.log([...globalThis[Symbol.for("stepmark@1")].modules.keys()].sort().join());`;
const flow = `import { step } from "stepmark"; export const go = () => step(async () => 1);`;

describe("stepmark/register", () => {
  it("transforms what is imported, required and included, below the folder of the entry's package.json", () => {
    const app = project("app", {
      "package.json": JSON.stringify({ type: "module", stepmark: { include: ["src/helper.js"] } }),
      "src/main.js": `import "./flow.js"; import "./helper.js"; import "./old.cjs"; ${paths}`,
      "src/flow.js": flow,
      "src/helper.js": "export const each = async (fn) => fn();",
      "src/old.cjs": `require("./older.cjs"); const { step } = require("stepmark"); exports.go = () => step(() => 1);`,
      "src/older.cjs": `const { step } = require("stepmark"); exports.go = () => step(() => 1);`,
    });
    const expected = "src/flow.js,src/helper.js,src/old.cjs,src/older.cjs\n";
    expect(node(app, "src/main.js")).toMatchObject({ stdout: expected, stderr: "" });
    expect(node(path.dirname(app), "app/src/main.js").stdout).toBe(expected);
    expect(node(app, "src/old.cjs").status).toBe(0);
  });

  it("leaves packages alone", () => {
    const app = project("packages", {
      "package.json": JSON.stringify({ type: "module" }),
      "main.js": `import "lib"; import "stepmark"; ${paths}`,
      "node_modules/lib/package.json": JSON.stringify({ type: "module", exports: "./index.js" }),
      "node_modules/lib/index.js": flow,
    });
    expect(node(app, "main.js").stdout).toBe("\n");
  });

  it("keeps the lines of stacks without the map, and the columns with it", () => {
    const app = project("stacks", {
      "package.json": JSON.stringify({ type: "module" }),
      "main.js": `import { step } from "stepmark";
const fail = (n) => n;
export const go = () => step(fail);

for (const n of [1]) { fail(n); fail(2); console.log(new Error(fail("here")).stack.split("\\n")[1]); }
`,
    });
    expect(node(app, "main.js").stdout).toContain("main.js:5:");
    expect(node(app, "--enable-source-maps", "main.js").stdout).toContain("main.js:5:54");
  });

  it.each([{ sourceMap: true }, { inlineSourceMap: true }])(
    "leads through the map of compiled code to what it was compiled from: %j",
    (maps) => {
      const source = `import { step } from "stepmark";

interface Order { readonly id: string }

const charge = async (order: Order): Promise<string> => order.id;
export const go = (order: Order): unknown => step(charge, order);

function fail(order: Order): never { throw new Error(order.id); }
export function start(order: Order): void {
  const id: string = order.id;
  fail({ id });
}
try { start({ id: "a" }); } catch (error) { console.log((error as Error).stack); }
`;
      const compilerOptions = {
        target: ts.ScriptTarget.ES2022,
        module: ts.ModuleKind.ESNext,
        sourceRoot: "../src",
        ...maps,
      };
      const { outputText, sourceMapText } = ts.transpileModule(source, { fileName: "main.ts", compilerOptions });
      const name = Object.keys(maps)[0]!;
      const app = project(name, {
        "package.json": JSON.stringify({ type: "module" }),
        "src/main.ts": source,
        "out/main.js": outputText,
        "out/main.js.map": sourceMapText ?? "",
      });
      const { stdout } = node(app, "--enable-source-maps", "out/main.js");
      const place = (line: number, column: number): string => `${path.join(app, "src/main.ts")}:${line}:${column}`;
      expect(stdout).toContain(place(8, 44));
      expect(stdout).toContain(place(11, 3));
      expect(stdout).not.toContain("out/main.js");
    },
  );

  it("says what is wrong with the code as a warning of the process", () => {
    const app = project("careless", {
      "package.json": JSON.stringify({ type: "module" }),
      "main.js": `import { step, workflow } from "stepmark"; workflow("w", async () => { step(() => 1); });`,
    });
    const { stderr } = node(app, "main.js");
    expect(stderr).toMatch(/\[(STEPMARK\d+)\] StepmarkWarning: .*main\.js:1:\d+ - warning STEPMARK/);
    const [, code] = /\[(STEPMARK\d+)\]/.exec(stderr)!;
    expect(node(app, `--disable-warning=${code}`, "main.js").stderr).not.toContain(code);
  });

  it("refuses a field of package.json that it cannot read", () => {
    const app = project("bad", { "package.json": JSON.stringify({ stepmark: [] }), "main.mjs": "" });
    expect(node(app, "main.mjs").stderr).toContain('the field "stepmark" in');
    project("bad", { "package.json": JSON.stringify({ stepmark: { includes: [] } }) });
    expect(node(app, "main.mjs").stderr).toContain('no option "includes"');
  });

  it.skipIf(Object.hasOwn(process.features, "typescript"))("names the cure where Node strips no types", () => {
    const app = project("typed", { "package.json": JSON.stringify({ type: "module" }), "main.ts": flow });
    const { status, stderr } = node(app, "main.ts");
    expect(status).not.toBe(0);
    expect(stderr).toContain("Use Node 22.18 or later");
  });
});

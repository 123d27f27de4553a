/** `stepmark doctor`: what it finds in projects, builds and stores. */
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { buildSync, transformSync } from "esbuild";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkBuild } from "../../cli/doctor/build.js";
import type { Finding } from "../../cli/doctor/finding.js";
import { checkNode, majorOf } from "../../cli/doctor/packages.js";
import { checkStore } from "../../cli/doctor/store.js";
import { readConfigs, readsExports } from "../../cli/project.js";
import { sqliteStore } from "../../runtime/stores/sqlite.js";
import { openDatabase } from "../../runtime/stores/sqlite-driver.js";
import { transformText } from "../../transformer/transform-text.js";
import { repository } from "../hosts/project.js";
import { installProgram, type Program, programIn } from "./program.js";

let base: Program;
let projects = 0;
beforeAll(() => {
  base = installProgram("doctor");
}, 60_000);
afterAll(() => base.remove());

interface Files {
  [name: string]: string | object;
}

/** A project with these files, and these packages beside stepmark: `version` alone, or a link to what the repository has. */
function project(files: Files, packages: Record<string, string> = {}): Program {
  const folder = path.join(base.folder, `project${++projects}`);
  mkdirSync(folder);
  const made = programIn(folder, base.main);
  for (const [name, content] of Object.entries({ "package.json": { type: "module" }, ...files }))
    made.write(name, typeof content === "string" ? content : JSON.stringify(content));
  for (const [name, version] of Object.entries(packages)) {
    if (/^\d/.test(version)) made.write(`node_modules/${name}/package.json`, JSON.stringify({ name, version }));
    else {
      mkdirSync(path.join(folder, "node_modules"), { recursive: true });
      symlinkSync(path.join(repository, "node_modules", version), path.join(folder, "node_modules", name));
    }
  }
  return made;
}

function findings(made: Program, ...args: string[]): { found: Finding[]; status: number | null } {
  const { stdout, stderr, status } = made.stepmark("doctor", "--json", ...args);
  expect(stderr).toBe("");
  return { found: JSON.parse(stdout) as Finding[], status };
}

const said = (found: readonly Finding[], of: string): string[] =>
  found.filter((each) => each.of === of).map(({ level, what }) => `${level}: ${what}`);

const plugin = {
  compilerOptions: { target: "ES2022", module: "NodeNext", plugins: [{ transform: "stepmark/transformer" }] },
  files: ["a.ts"],
};
const flow = 'import { step } from "stepmark";\nexport const go = () => step(async () => 1);\n';

describe("stepmark doctor", () => {
  it("finds nothing wrong with a project that is set up, and says all that it has looked at", () => {
    const made = project(
      { "tsconfig.json": plugin, "a.ts": flow, "package.json": { scripts: { build: "tspc", types: "tsc --noEmit" } } },
      { typescript: "typescript", "ts-patch": "ts-patch" },
    );
    const { found, status } = findings(made);
    expect({ status, wrong: found.filter(({ level }) => level !== "ok") }).toEqual({ status: 0, wrong: [] });
    expect(said(found, "tsconfig.json")).toEqual(["ok: has the plugin, as a transformer of files"]);
    expect(found.map(({ of }) => of)).toEqual(
      expect.arrayContaining(["node", "stepmark", "typescript", "ts-patch", "tsconfig.json", "stepmark.lock", "store"]),
    );
    const { stdout } = made.stepmark("doctor");
    expect(stdout).toMatch(/^ok {2}node +\d+\.\d+\.\d+\n/);
  });

  it("says how the plugin is there, also in what a tsconfig extends or refers to", () => {
    const program = { transform: "stepmark/transformer", transformProgram: true, name: "stepmark/editor" };
    const made = project({
      "base.json": { compilerOptions: { plugins: [program] } },
      "lib/tsconfig.json": { extends: "../base.json", files: ["a.ts"] },
      "lib/a.ts": flow,
      "tsconfig.json": { files: [], references: [{ path: "lib" }] },
    });
    expect(said(findings(made).found, "lib/tsconfig.json")).toEqual([
      "ok: has the plugin, as a transformer of programs, with diagnostics in the editor",
    ]);
  });

  it.each([
    ["typescript", { typescript: "7.0.1", "ts-patch": "4.0.1" }, /^error: 7\.0\.1 has no API for transformers/],
    ["typescript", { typescript: "4.9.5" }, /^error: 4\.9\.5 is older/],
    ["ts-patch", { typescript: "6.0.3" }, /^error: is not installed here/],
    ["ts-patch", { typescript: "5.9.3", "ts-patch": "4.0.1" }, /^error: 4\.0\.1 is not for TypeScript 5\.9\.3/],
    ["ts-patch", { typescript: "6.0.3", "ts-patch": "3.3.0" }, /^error: 3\.3\.0 is not for TypeScript 6\.0\.3/],
    ["ts-patch", { typescript: "5.9.3", "ts-patch": "3.3.0" }, /^ok: 3\.3\.0/],
  ])("knows which %s fits: %j", (of, packages, wanted) => {
    const { found, status } = findings(project({ "tsconfig.json": plugin, "a.ts": "" }, packages));
    expect(said(found, of)).toEqual([expect.stringMatching(wanted)]);
    expect(status).toBe(wanted.source.includes("error") ? 1 : 0);
  });

  it.each([
    [{ module: "commonjs" }, "5.9.3", false],
    [{ module: "esnext" }, "5.9.3", false],
    [{}, "5.9.3", false],
    [{ module: "nodenext", moduleResolution: "nodenext" }, "5.9.3", true],
    [{ module: "nodenext" }, "5.9.3", true],
    [{ module: "esnext", moduleResolution: "bundler" }, "5.9.3", true],
    [{ module: "commonjs" }, "6.0.3", true],
    [{ module: "commonjs", moduleResolution: "node10", ignoreDeprecations: "6.0" }, "6.0.3", false],
  ])("knows whether a compiler finds stepmark: %j under TypeScript %s", (compilerOptions, typescript, isFound) => {
    const made = project({ "a.ts": "", "tsconfig.json": { compilerOptions, files: ["a.ts"] } });
    const [config] = readConfigs(undefined, made.folder);
    expect(readsExports(config!, majorOf(typescript))).toBe(isFound);
  });

  it("says what to write where a compiler does not find stepmark, and so does `init`", () => {
    const compilerOptions = { ...plugin.compilerOptions, module: "commonjs" };
    const packages = { typescript: "5.9.3", "ts-patch": "3.3.0" };
    const made = project({ "a.ts": "", "tsconfig.json": { compilerOptions, files: ["a.ts"] } }, packages);
    const { found, status } = findings(made);
    expect(said(found, "tsconfig.json")[1]).toMatch(/^error: .*it does not find stepmark$/);
    expect(status).toBe(1);
    expect(made.stepmark("init", "--yes").stderr).toContain('Write `"module": "NodeNext"`');
  });

  it("finds options that do not exist, noEmit, and scripts with tsc", () => {
    const made = project(
      {
        "a.ts": "",
        "tsconfig.json": { compilerOptions: { noEmit: true, plugins: [{ transform: "stepmark/transformer" }] } },
        "package.json": { scripts: { build: "rm -rf dist && tsc -p .", types: "tsc --noEmit" } },
      },
      { typescript: "6.0.3", "ts-patch": "4.0.1" },
    );
    const { found } = findings(made);
    expect(said(found, "tsconfig.json")[1]).toMatch(/^warning: has noEmit/);
    expect(said(found, "package.json")).toEqual([
      'error: the script "build" runs "rm -rf dist && tsc -p .": tsc knows no transformers',
    ]);
    made.write(
      "tsconfig.json",
      JSON.stringify({ compilerOptions: { plugins: [{ transform: "stepmark/transformer", includes: [] }] } }),
    );
    const { found: wrong, status } = findings(made);
    expect(status).toBe(1);
    expect(said(wrong, "tsconfig.json")[0]).toMatch(/^error: .*no option "includes"/);
  });

  it("looks for other hosts, and says what it cannot know", () => {
    const made = project({
      "vite.config.ts": 'import stepmark from "stepmark/vite";\nexport default { plugins: [stepmark()] };',
      "webpack.config.cjs": "// stepmark/webpack would go here\nmodule.exports = {};",
      "package.json": { scripts: { start: "node --import stepmark/register app.js" }, jest: { transform: {} } },
    });
    const { found, status } = findings(made);
    expect(status).toBe(0);
    expect(said(found, "vite.config.ts")).toEqual([
      expect.stringMatching(/^ok: mentions stepmark\/vite; whether .* cannot be known/),
    ]);
    expect(said(found, "webpack.config.cjs")).toEqual(["warning: does not mention stepmark/webpack"]);
    expect(said(found, "package.json")).toEqual([
      "warning: its field jest does not name stepmark/jest",
      'ok: the script "start" runs with stepmark/register',
    ]);
    const bare = findings(project({}));
    expect(bare.status).toBe(1);
    expect(said(bare.found, "hosts")).toEqual(["error: nothing is seen here that applies the transformer"]);
  });

  it("finds other copies of stepmark", () => {
    const made = project({ "tsconfig.json": plugin, "a.ts": "" }, { typescript: "6.0.3", "ts-patch": "4.0.1" });
    made.write("node_modules/lib/node_modules/stepmark/package.json", '{ "version": "0.0.9" }');
    const { found, status } = findings(made);
    expect(status).toBe(1);
    expect(said(found, "stepmark")).toEqual([
      expect.stringMatching(/^ok: \d/),
      "error: another copy, 0.0.9, is in node_modules/lib/node_modules/stepmark",
    ]);
  });

  it("compares the lock file, and tells of one that cannot be read", () => {
    const made = project(
      { "tsconfig.json": plugin, "a.ts": flow },
      { typescript: "typescript", "ts-patch": "ts-patch" },
    );
    expect(made.stepmark("accept").status).toBe(0);
    expect(said(findings(made).found, "stepmark.lock")).toEqual([
      expect.stringMatching(/^ok: \d places?, as the code has them$/),
    ]);
    made.write("a.ts", `${flow}export const more = () => step(async () => 2);\n`);
    expect(said(findings(made).found, "stepmark.lock")).toEqual([expect.stringMatching(/^warning: differs/)]);
    made.write("stepmark.lock", "<<<<<<< HEAD\n");
    const { found, status } = findings(made);
    expect({ status, said: said(found, "stepmark.lock") }).toEqual({
      status: 1,
      said: [expect.stringMatching(/^error: /)],
    });
  });

  it("knows the versions of Node", () => {
    expect(["18.20.0", "20.18.3", "20.19.0", "22.1.0"].map((version) => checkNode(version).level)).toEqual([
      "error",
      "error",
      "ok",
      "ok",
    ]);
  });
});

describe("what a build holds", () => {
  const source = `import { step, waitFor as ask } from "stepmark";
import * as library from "stepmark";
export const go = async () => {
  await step(async () => 1);
  await ask("go");
  await library.sleep(1);
  await step({ key: "own" }, async () => 1);
};
`;
  const compiled = (code: string): Record<string, string> => ({
    "esm.mjs": transformSync(code, { loader: "ts", format: "esm" }).code,
    "minified.js": transformSync(code, { loader: "ts", format: "esm", minify: true }).code,
    "esbuild.cjs": transformSync(code, { loader: "ts", format: "cjs" }).code,
    "typescript.cjs": ts.transpileModule(code, {
      compilerOptions: { module: ts.ModuleKind.CommonJS, esModuleInterop: true, target: ts.ScriptTarget.ES2022 },
    }).outputText,
    "dynamic.mjs": code
      .replace(/^import .*\n/gm, "")
      .replace(
        "async () => {",
        "async () => { const { step, waitFor: ask, ...library } = await import('stepmark'); const all = await import('stepmark');",
      )
      .replace("library.sleep", "all.sleep"),
  });
  const look = (files: Record<string, string>): Finding => {
    const folder = path.join(base.folder, `build${++projects}`);
    mkdirSync(folder);
    for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text);
    return checkBuild(folder);
  };

  it.each(Object.entries(compiled(source)))("finds calls in %s that were not transformed", (name, text) => {
    const { level, what } = look({ [name]: text });
    expect(level).toBe("error");
    expect(what).toMatch(/^3 calls that were not transformed: /);
    for (const call of ["step(...)", "waitFor(...)", "sleep(...)"]) expect(what).toContain(call);
  });

  it("and none in the same code transformed", () => {
    const transformed = transformText(source, { file: "/flow.ts", root: "/" })!.code;
    const files = compiled(transformed);
    delete files["dynamic.mjs"];
    expect(look(files)).toEqual({
      level: "ok",
      of: expect.any(String),
      what: "4 script files, 4 files with stepmark imported, 4 transformed modules, and no call that was not transformed",
    });
  });

  it("goes by bindings, not by names", () => {
    const own =
      'const step = (fn) => fn();\nimport { Stepmark } from "stepmark";\nstep(() => new Stepmark());\nfunction f(sleep) { sleep(1); }';
    expect(look({ "own.js": own }).level).toBe("ok");
  });

  it("says what cannot be seen where stepmark is part of a bundle", () => {
    const entry = (code: string): string =>
      buildSync({
        stdin: { contents: code, resolveDir: repository, loader: "ts" },
        alias: { stepmark: path.join(repository, "runtime/index.ts") },
        bundle: true,
        format: "esm",
        platform: "node",
        packages: "external",
        write: false,
      }).outputFiles[0]!.text;
    expect(look({ "plain.mjs": entry(source) })).toMatchObject({
      level: "warning",
      what: expect.stringContaining("no transformed code is seen"),
    });
    const transformed = transformText(source, { file: "/flow.ts", root: "/" })!.code;
    expect(look({ "made.mjs": entry(transformed) })).toMatchObject({
      level: "ok",
      what: expect.stringContaining("cannot be seen from outside"),
    });
    expect(look({ "other.js": "export {};" })).toMatchObject({
      level: "warning",
      what: expect.stringContaining("none of them has to do with stepmark"),
    });
  });
});

describe("how a store is", () => {
  const file = (): string => path.join(base.folder, `store${++projects}.db`);
  const wrong = (found: readonly Finding[]): Finding[] => found.filter(({ level }) => level !== "ok");

  it("is well with one that can be used, and with none", async () => {
    const at = file();
    expect(wrong(await checkStore(at))).toEqual([]);
    const store = sqliteStore(at);
    await store.list({});
    await store.close();
    const found = await checkStore(at);
    expect(wrong(found)).toEqual([]);
    expect(said(found, "store").join()).toContain("sound");
  });

  it("is wrong with a newer one, another program's, a damaged one, and one that is locked", async () => {
    const newer = file();
    const connection = openDatabase(newer);
    connection.exec("CREATE TABLE t (x); PRAGMA user_version = 99");
    expect(wrong(await checkStore(newer))).toMatchObject([
      { level: "error", what: expect.stringContaining("newer version") },
    ]);
    connection.exec("PRAGMA user_version = 0");
    expect(wrong(await checkStore(newer))).toMatchObject([
      { level: "error", what: expect.stringContaining("another program's") },
    ]);
    connection.close();

    const none = file();
    writeFileSync(none, "no database at all".repeat(100));
    expect(wrong(await checkStore(none))).toMatchObject([
      { level: "error", cure: expect.stringContaining("Give the path") },
    ]);

    const locked = file();
    const store = sqliteStore(locked);
    await store.list({});
    const other = openDatabase(locked);
    other.exec("BEGIN IMMEDIATE");
    expect(wrong(await checkStore(locked))).toMatchObject([
      {
        level: "error",
        what: expect.stringContaining("held the lock"),
        cure: expect.stringContaining("Another process"),
      },
    ]);
    other.exec("ROLLBACK");
    other.close();
    await store.close();
  });

  it("tells of runs that nobody drives", async () => {
    const at = file();
    const store = sqliteStore(at);
    await store.create({ id: "left", workflow: "w", input: "[]", inputPrint: "", scheme: 1, createdAt: 1 });
    await store.close();
    expect(wrong(await checkStore(at))).toMatchObject([
      { level: "warning", what: "1 run that nobody drives, since the process has ended: left" },
    ]);
    rmSync(at);
  });

  // A Node with SQLite of its own needs no package.
  it.skipIf(process.getBuiltinModule?.("node:sqlite") !== undefined)(
    "tells what is missing where better-sqlite3 is not there or was not built, and so does every use of the store",
    () => {
      const own = installProgram("undriven");
      const sqlite = path.join(own.folder, "node_modules/stepmark/node_modules/better-sqlite3");
      const use = (): string[] => {
        own.write(".stepmark/runs.db", "");
        const { what, cure } = findings(own).found.find(({ what }) => what.includes("SQLite")) ?? expect.fail();
        expect(cure).toContain("`npm rebuild better-sqlite3`");
        const { stderr } = own.stepmark("runs");
        expect(stderr).toContain("`pnpm approve-builds`");
        return [what.replace("SQLite cannot be used: ", ""), stderr];
      };
      rmSync(sqlite);
      const missing = use();
      expect(missing[0]).toBe(
        "this Node has no SQLite of its own (22.13 has), and the package better-sqlite3 is not installed",
      );
      expect(missing[1]).toContain(missing[0]);
      mkdirSync(sqlite);
      writeFileSync(
        path.join(sqlite, "index.js"),
        'module.exports = class { constructor() { throw new Error("Could not locate the bindings file. Tried:"); } };',
      );
      expect(use()[0]).toMatch(/better-sqlite3 is not built for this Node$/);
      own.remove();
    },
    60_000,
  );
});

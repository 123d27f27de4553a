/** `stepmark init`: what it does to projects, and what it leaves to people. */
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { installProgram, type Program, programIn } from "./program.js";

let base: Program;
let projects = 0;
beforeAll(() => {
  base = installProgram("init");
}, 60_000);
afterAll(() => base.remove());

function project(files: Record<string, string>): Program {
  const folder = path.join(base.folder, `project${++projects}`);
  mkdirSync(folder);
  const made = programIn(folder, base.main);
  for (const [name, text] of Object.entries(files)) made.write(name, text);
  return made;
}

const has = (made: Program, name: string): boolean => existsSync(path.join(made.folder, name));
const version = (): string =>
  (
    JSON.parse(readFileSync(path.join(base.folder, "node_modules/stepmark/package.json"), "utf8")) as {
      version: string;
    }
  ).version;

describe("stepmark init", () => {
  it("adds what is missing, keeps all else as it is, and has nothing to do the next time", () => {
    const made = project({
      "tsconfig.json": `{
    // for Node
    "compilerOptions": {
        "target": "ES2022", /* modern */
        "outDir": "dist",
    },
    "include": ["src"], // all of it
}
`,
      "package.json":
        '{\n    "name": "shop",\n    "scripts": { "build": "rm -rf dist && tsc -p . --sourceMap", "types": "tsc --noEmit" },\n    "dependencies": {\n        "zod": "^4.0.0"\n    }\n}\n',
      ".gitignore": "node_modules",
    });
    const { stdout, status, stderr } = made.stepmark("init", "--yes");
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toContain(' +         "plugins": [{ "transform": "stepmark/transformer" }],');
    expect(stdout).toContain(
      "Changed: tsconfig.json, package.json, .gitignore.\nNow: `npm install`, and then `stepmark doctor`.\n",
    );
    expect(made.read("tsconfig.json")).toBe(`{
    // for Node
    "compilerOptions": {
        "target": "ES2022", /* modern */
        "outDir": "dist",
        "plugins": [{ "transform": "stepmark/transformer" }],
    },
    "include": ["src"], // all of it
}
`);
    expect(JSON.parse(made.read("package.json"))).toEqual({
      name: "shop",
      scripts: { build: "rm -rf dist && tspc -p . --sourceMap", types: "tsc --noEmit" },
      dependencies: { stepmark: `^${version()}`, zod: "^4.0.0" },
      devDependencies: { "ts-patch": "^4.0.1", typescript: "^6.0.3" },
    });
    expect(made.read("package.json")).toContain('\n    "name": "shop",\n    "scripts": { "build"');
    expect(made.read(".gitignore")).toBe("node_modules\n.stepmark/\n");
    expect(made.stepmark("init")).toMatchObject({
      status: 0,
      stdout: "There is nothing to change: stepmark is set up here.\n",
    });
  });

  it("writes nothing where nobody can say yes", () => {
    const text = '{ "compilerOptions": {} }';
    const made = project({ "tsconfig.json": text, "package.json": "{}" });
    const { stdout, stderr, status } = made.stepmark("init");
    expect(status).toBe(1);
    expect(stdout).toContain('"plugins": [{ "transform": "stepmark/transformer" }]');
    expect(stderr).toBe("Nothing was changed: run it in a terminal, or with --yes.\n");
    expect([made.read("tsconfig.json"), made.read("package.json")]).toEqual([text, "{}"]);
  });

  it("stands before other plugins, keeps tabs and Windows' line ends, and fits an older TypeScript", () => {
    const made = project({
      "tsconfig.json":
        '{\r\n\t"compilerOptions": {\r\n\t\t"plugins": [\r\n\t\t\t{ "transform": "other" }\r\n\t\t]\r\n\t}\r\n}\r\n',
      "package.json": '{ "devDependencies": { "typescript": "~5.9.3" }, "scripts": { "build": "tspc" } }',
      "node_modules/typescript/package.json": '{ "version": "5.9.3" }',
    });
    expect(made.stepmark("init", "--yes").status).toBe(0);
    expect(made.read("tsconfig.json")).toBe(
      '{\r\n\t"compilerOptions": {\r\n\t\t"plugins": [\r\n\t\t\t{ "transform": "stepmark/transformer" },\r\n\t\t\t{ "transform": "other" }\r\n\t\t]\r\n\t}\r\n}\r\n',
    );
    expect(JSON.parse(made.read("package.json"))).toMatchObject({
      scripts: { build: "tspc" },
      devDependencies: { typescript: "~5.9.3", "ts-patch": "^3.3.0" },
    });
    expect(has(made, ".gitignore")).toBe(false);
  });

  it("adds a script where none builds, and says what a bundler's build takes", () => {
    const none = project({ "tsconfig.json": "{}", "package.json": "{}" });
    none.stepmark("init", "--yes");
    expect(JSON.parse(none.read("package.json"))).toMatchObject({ scripts: { build: "tspc" } });
    const bundled = project({ "tsconfig.json": "{}", "package.json": '{ "scripts": { "build": "vite build" } }' });
    const { stderr } = bundled.stepmark("init", "--yes");
    expect(stderr).toContain('The script "build" runs "vite build", not tsc');
    expect(JSON.parse(bundled.read("package.json"))).toMatchObject({ scripts: { build: "vite build" } });
  });

  it.each<[string, Record<string, string>, string[]]>([
    [
      "no tsconfig, and a bundler",
      { "vite.config.ts": "", "src/main.ts": "" },
      ["there is no tsconfig.json", "vite.config.ts", "stepmark/vite"],
    ],
    [
      "no tsconfig, and JavaScript alone",
      { "src/main.js": "" },
      ["there is no tsconfig.json", "node --import stepmark/register"],
    ],
    [
      "one that only extends another",
      { "base.json": '{ "compilerOptions": {} }', "tsconfig.json": '{ "extends": "./base.json" }' },
      ['only extends "./base.json"', '"plugins": [{ "transform": "stepmark/transformer" }]'],
    ],
    [
      "one with another's plugins",
      {
        "base.json": '{ "compilerOptions": { "plugins": [{ "transform": "other" }] } }',
        "tsconfig.json": '{ "extends": "./base.json", "compilerOptions": { "strict": true } }',
      },
      ['has the plugins of "./base.json"', "with the entries that are there already"],
    ],
    [
      "project references",
      {
        "tsconfig.json": '{ "files": [], "references": [{ "path": "./a" }, { "path": "b/tsconfig.lib.json" }] }',
        "a/tsconfig.json": "{}",
        "b/tsconfig.lib.json": "{}",
      },
      [
        "Nothing was changed: tsconfig.json refers to other projects",
        "stepmark init --project a/tsconfig.json",
        "stepmark init --project b/tsconfig.lib.json",
      ],
    ],
    ["noEmit", { "tsconfig.json": '{ "compilerOptions": { "noEmit": true } }' }, ["has noEmit", "docs/hosts.md"]],
    [
      "TypeScript 7",
      { "tsconfig.json": "{}", "node_modules/typescript/package.json": '{ "version": "7.0.2" }' },
      ["TypeScript 7.0.2 has no API for transformers", "typescript@6"],
    ],
    ["what is no JSON", { "tsconfig.json": '{ "compilerOptions": { }' }, ["is not JSON that can be edited"]],
  ])("changes nothing of a project with %s, and says what to do by hand", (_, files, words) => {
    const made = project({ "package.json": "{}", ...files });
    const { stderr, status, stdout } = made.stepmark("init", "--yes");
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toMatch(/^Nothing was changed: /);
    for (const word of words) expect(stderr).toContain(word);
    expect(made.read("package.json")).toBe("{}");
    if (files["tsconfig.json"] !== undefined) expect(made.read("tsconfig.json")).toBe(files["tsconfig.json"]);
  });

  it("writes the tsconfig of a project that has none: what it compiles is found, transformed and run", () => {
    const made = project({ "package.json": '{ "type": "module" }' });
    const { stdout, status } = made.stepmark("init", "--yes");
    expect({ status, last: stdout.split("\n").at(-3) }).toEqual({
      status: 0,
      last: "Changed: tsconfig.json, package.json.",
    });
    expect(JSON.parse(made.read("tsconfig.json"))).toEqual({
      compilerOptions: {
        target: "ES2023",
        module: "nodenext",
        rootDir: "src",
        outDir: "dist",
        strict: true,
        skipLibCheck: true,
        types: ["node"],
        plugins: [{ transform: "stepmark/transformer" }],
      },
      include: ["src"],
    });
    expect(JSON.parse(made.read("package.json"))).toMatchObject({
      scripts: { build: "tspc" },
      devDependencies: { "@types/node": `^${process.versions.node.split(".")[0]}` },
    });
    expect(made.stepmark("init").stdout).toContain("nothing to change");
    const flat = project({ "package.json": "{}", "main.ts": "" });
    flat.stepmark("init", "--yes");
    expect(JSON.parse(flat.read("tsconfig.json"))).toMatchObject({ compilerOptions: { rootDir: "." } });
    expect(flat.read("tsconfig.json")).not.toContain("include");
  });

  it("takes a package of a workspace by itself: its package.json, its references, its incremental build", () => {
    const made = project({
      "package.json": '{ "workspaces": ["packages/*"] }',
      "tsconfig.json": '{ "files": [], "references": [{ "path": "packages/flows" }, { "path": "packages/app" }] }',
      "packages/flows/package.json": "{}",
      "packages/flows/tsconfig.json": '{ "compilerOptions": { "composite": true } }',
      "packages/flows/index.ts": "",
      "packages/app/package.json": '{ "scripts": { "build": "tsc -b" } }',
      "packages/app/tsconfig.json": '{ "compilerOptions": {}, "references": [{ "path": "../flows" }] }',
      "packages/app/index.ts": "",
    });
    const app = made.stepmark("init", "--yes", "--project", "packages/app/tsconfig.json");
    expect(app).toMatchObject({ status: 0 });
    expect(app.stdout).toContain("Changed: packages/app/tsconfig.json, packages/app/package.json.");
    expect(app.stderr).toContain("stepmark init --project packages/flows/tsconfig.json");
    expect(JSON.parse(made.read("packages/app/tsconfig.json"))).toMatchObject({
      compilerOptions: { plugins: [{ transform: "stepmark/transformer" }] },
    });
    expect(JSON.parse(made.read("packages/app/package.json"))).toMatchObject({ scripts: { build: "tspc -b" } });
    expect(made.read("package.json")).toBe('{ "workspaces": ["packages/*"] }');
    made.stepmark("init", "--yes", "--project", "packages/flows/tsconfig.json");
    expect(JSON.parse(made.read("packages/flows/tsconfig.json"))).toMatchObject({
      compilerOptions: { plugins: [{ transform: "stepmark/transformer", transformProgram: true }] },
    });
  });

  it("ignores the runs of a project once in its repository", () => {
    const made = project({
      "tsconfig.json": "{}",
      "package.json": "{}",
      ".git/HEAD": "",
      "a/tsconfig.json": "{}",
      "a/package.json": "{}",
    });
    const inner = programIn(path.join(made.folder, "a"), base.main);
    expect(inner.stepmark("init", "--yes").stdout).toContain(".gitignore (new)");
    expect(inner.read(".gitignore")).toBe(".stepmark/\n");
    made.write(".gitignore", "dist\n/.stepmark/\n");
    made.write("b/tsconfig.json", "{}");
    made.write("b/package.json", "{}");
    expect(programIn(path.join(made.folder, "b"), base.main).stepmark("init", "--yes").stdout).not.toContain(
      ".gitignore",
    );
  });

  it("takes another tsconfig, and finds a plugin that an extended one has", () => {
    const made = project({
      "tsconfig.json": '{ "compilerOptions": { "noEmit": true } }',
      "tsconfig.build.json": '{ "compilerOptions": { "outDir": "dist" } }',
      "package.json": '{ "scripts": { "build": "tsc -p tsconfig.build.json" } }',
    });
    expect(made.stepmark("init", "--yes", "--project", "tsconfig.build.json").status).toBe(0);
    expect(made.read("tsconfig.build.json")).toContain('"stepmark/transformer"');
    made.write("tsconfig.more.json", '{ "extends": "./tsconfig.build.json" }');
    expect(made.stepmark("init", "--project", "tsconfig.more.json").stdout).toContain("nothing to change");
    expect(made.stepmark("init", "--project", "none.json")).toMatchObject({ status: 2 });
  });

  it("installs when it is told to, by what the lock file says", () => {
    const made = project({
      "tsconfig.json": "{}",
      "package.json": "{}",
      "yarn.lock": "",
      "bin/yarn": "#!/bin/sh\necho ran yarn $1\nexit 3\n",
    });
    // Through a shell, so that its own yarn is found first.
    const { stdout, stderr, status } = made.node(
      "-e",
      `const { chmodSync } = require("fs"); chmodSync("bin/yarn", 0o755);
       const env = { ...process.env, PATH: process.cwd() + "/bin:" + process.env.PATH };
       const { status } = require("child_process").spawnSync(process.execPath, [${JSON.stringify(base.main)}, "init", "--yes", "--install"], { env, stdio: "inherit" });
       process.exit(status);`,
    );
    expect(stdout).toContain("yarn install\nran yarn install\n");
    expect({ stderr, status }).toEqual({ stderr: "`yarn install` has failed.\n", status: 1 });
  });
});

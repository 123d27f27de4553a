/** Commands about sources in a workspace: which lock file they are about is the one that the builds read. */
import { existsSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { installProgram, type Program, programIn } from "./program.js";

let base: Program;
let made: Program;
let projects = 0;
beforeAll(() => {
  base = installProgram("workspace");
}, 60_000);
afterAll(() => base.remove());
beforeEach(() => {
  made = programIn(path.join(base.folder, `project${++projects}`), base.main);
  made.write("package.json", '{ "workspaces": ["packages/*"] }');
  made.write(
    "tsconfig.json",
    '{ "files": [], "references": [{ "path": "packages/flows" }, { "path": "packages/app" }] }',
  );
  for (const name of ["flows", "app"]) {
    made.write(`packages/${name}/package.json`, "{}");
    made.write(
      `packages/${name}/src/index.ts`,
      `import { step, workflow } from "stepmark";\nexport const ${name} = workflow("${name}", async () => step("${name}", async () => 1));\n`,
    );
  }
});

function plugins(options: Record<string, string>, names = ["flows", "app"]): void {
  for (const name of names) {
    const plugin = JSON.stringify({ transform: "stepmark/transformer", ...options });
    const references = name === "app" ? ', "references": [{ "path": "../flows" }]' : "";
    made.write(
      `packages/${name}/tsconfig.json`,
      `{ "compilerOptions": { "composite": true, "plugins": [${plugin}] }${references} }`,
    );
  }
}

const has = (name: string): boolean => existsSync(path.join(made.folder, name));

it("writes no lock file that no build reads: projects that are built apart have to be named", () => {
  plugins({});
  const { status, stderr } = made.stepmark("accept", "--yes");
  expect(status).toBe(2);
  expect(stderr).toContain("--project (packages/flows/tsconfig.json, packages/app/tsconfig.json)");
  expect(has("stepmark.lock")).toBe(false);
  expect(made.stepmark("doctor").stdout).toContain("stepmark.lock");
  expect(made.stepmark("accept", "--yes", "--project", "packages/app/tsconfig.json")).toMatchObject({ status: 0 });
  expect(made.read("packages/app/stepmark.lock")).toContain("src/index.ts . app() function");
  expect(made.read("packages/app/stepmark.lock")).not.toContain("flows");
});

it("takes what all builds have as their root", () => {
  plugins({ root: "../.." });
  expect(made.stepmark("accept", "--yes")).toMatchObject({ status: 0 });
  const lock = made.read("stepmark.lock");
  expect(lock).toContain("packages/flows/src/index.ts . flows() function");
  expect(lock).toContain("packages/app/src/index.ts . app() function");
});

it("takes the one project that has the plugin, with its root", () => {
  plugins({}, ["flows"]);
  made.write("packages/app/tsconfig.json", '{ "compilerOptions": { "composite": true } }');
  expect(made.stepmark("accept", "--yes")).toMatchObject({ status: 0 });
  expect(made.read("packages/flows/stepmark.lock")).toContain("src/index.ts . flows() function");
  expect(has("stepmark.lock")).toBe(false);
});

/** What all hosts have in common: which modules are looked at, what is refused, what is reported. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { transformSync } from "esbuild";
import ts from "typescript";
import { afterAll, expect, it, vi } from "vitest";
import { type HostOptions, hostTransform, projectFolder } from "../../transformer/hosts/host-transform.js";
import type { Diagnostic } from "../../transformer/transform-text.js";

const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "stepmark-host-")));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const source = `import { step, workflow } from "stepmark";
const charge = async (n: number): Promise<number> => n;
export const pay = workflow("pay", async (n: number) => step(charge, n));
`;

function through(id: string, code = source, options: HostOptions = {}, reports: Diagnostic[] = []) {
  return hostTransform(options, "/project", "a test")(code, id, (diagnostic) => reports.push(diagnostic));
}

it.each([
  ["/project/src/flow.ts", "src/flow.ts"],
  ["/project/src/flow.ts?t=1700000000000", "src/flow.ts"],
  ["/project/src/flow.ts?v=1&import", "src/flow.ts"],
  ["file:///project/src/a%20flow.ts?t=1", "src/a flow.ts"],
  ["/@fs/project/src/flow.mts", "src/flow.mts"],
  ["/elsewhere/flow.ts", "../elsewhere/flow.ts"],
  ["/project/src/App.vue?vue&type=script&lang.ts", "src/App.vue?vue&type=script&lang.ts"],
])("%s is %s", (id, module) => {
  expect(through(id)?.code).toContain(`r.module(${JSON.stringify(module)}, `);
});

it.each([
  "/project/src/flow.css",
  "/project/src/flow.ts?raw",
  "/project/src/App.vue",
  "\0virtual:flow.ts",
  "/project/node_modules/lib/flow.ts",
  "C:\\project\\node_modules\\lib\\flow.ts",
])("%j is left alone", (id) => {
  expect(through(id)).toBeUndefined();
});

it("on Windows ids have either separator, and modules have one", async () => {
  vi.resetModules();
  vi.doMock("node:path", () => ({ ...path.win32, default: path.win32 }));
  const { hostTransform: onWindows } = await import("../../transformer/hosts/host-transform.js");
  vi.doUnmock("node:path");
  const ids = ["C:\\project\\src\\flow.ts", "C:/project/src/flow.ts?t=1", "file:///C:/project/src/flow.ts"];
  for (const id of ids) {
    const transform = onWindows({ root: "src\\.." }, "C:\\project", "a test");
    expect(transform(source, id, () => {})?.code).toContain('r.module("src/flow.ts", ');
  }
});

it("packages are transformed when they are included", () => {
  const include = ["node_modules/lib"];
  expect(through("/project/node_modules/lib/flow.ts", source, { include })).toBeDefined();
});

it("an option that does not exist is refused, with the place where it was given", () => {
  expect(() => through("a.ts", source, { includes: [] } as never)).toThrow('no option "includes"');
  expect(() => through("a.ts", source, { includes: [] } as never)).toThrow("Correct a test.");
});

it("diagnostics go to the host's own report", () => {
  const reports: Diagnostic[] = [];
  const careless = source.replace("step(charge, n)", "{ step(charge, n); }");
  through("/project/src/flow.ts", careless, {}, reports);
  expect(reports.map(({ code }) => code)).not.toEqual([]);
});

it("code that has been compiled is refused, with the cure", () => {
  const awaiter = ts.transpileModule(source, { compilerOptions: { target: ts.ScriptTarget.ES2016, module: 99 } });
  const bundled = `import { step } from "stepmark"; var x = __commonJS({ "a.js"() { step(f); } });`;
  for (const code of [awaiter.outputText, transformSync(source, { loader: "ts", target: "es2016" }).code]) {
    expect(() => through("/project/src/flow.js", code)).toThrow(
      "its async functions have been compiled into generators",
    );
  }
  expect(() => through("/project/src/flow.js", bundled)).toThrow("it has been bundled");
  expect(() => through("/project/src/flow.js", bundled)).toThrow("Put stepmark before the plugins");
});

it("code that only speaks of such helpers is not", () => {
  expect(through("/project/src/flow.ts", `${source}// calls __awaiter(this)\nconst x = "__async(";`)).toBeDefined();
});

it("TypeScript that has lost its types is refused; a file that other plugins have changed is not", () => {
  const file = path.join(folder, "flow.ts");
  writeFileSync(file, source);
  expect(() => through(file, transformSync(source, { loader: "ts" }).code)).toThrow("its types have been stripped");
  expect(through(file, source.replace("charge, n", "charge, 1"))).toBeDefined();
});

it("a project is the nearest folder with a package.json", () => {
  mkdirSync(path.join(folder, "app/src/deep"), { recursive: true });
  writeFileSync(path.join(folder, "app/package.json"), "{}");
  expect(projectFolder(path.join(folder, "app/src/deep"))).toBe(path.join(folder, "app"));
  expect(projectFolder(path.join(folder, "app"))).toBe(path.join(folder, "app"));
});

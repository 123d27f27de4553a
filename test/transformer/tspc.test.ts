/** The real `tspc`, with both pairs of ts-patch and TypeScript that we support. */
import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const repository = fileURLToPath(new URL("../..", import.meta.url));
const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "stepmark-tspc-")));
const built = path.join(folder, "built");

beforeAll(() => {
  const tsc = path.join(repository, "node_modules/typescript/bin/tsc");
  const build = path.join(folder, "tsconfig.build.json");
  const options = {
    extends: path.join(repository, "tsconfig.json"),
    compilerOptions: {
      noEmit: false,
      outDir: built,
      rootDir: repository,
      paths: {},
      typeRoots: [path.join(repository, "node_modules/@types")],
    },
    include: [path.join(repository, "transformer")],
  };
  writeFileSync(build, JSON.stringify(options));
  execFileSync(process.execPath, [tsc, "-p", build], { stdio: "pipe" });
  writeFileSync(path.join(built, "package.json"), '{ "type": "module" }');
}, 60_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const source = `import { step, workflow } from "stepmark";
const charge = async (n: number) => n;
export const pay = workflow("pay", async (items: number[]) => {
  for (const item of items) await step(charge, item);
  return Promise.all(items.map(async (item) => step(() => charge(item))));
});
`;
const types = `declare module "stepmark" { export function step(...xs: any[]): Promise<any>; export function workflow(n: string, f: any): any; }`;

/** A project whose plugin is the transformer as it was built, compiled by its own `tspc`. */
function compileProject(name: string, patch: string, typescript: string, plugin: object, module = "NodeNext"): string {
  const project = path.join(folder, name);
  const modules = path.join(project, "node_modules");
  mkdirSync(path.join(project, "src"), { recursive: true });
  mkdirSync(modules);
  // ts-patch looks for TypeScript and for what it needs itself beside its own files.
  const replaced = ["typescript", "ts-patch"];
  for (const name of readdirSync(path.join(repository, "node_modules"))) {
    if (!replaced.includes(name)) symlinkSync(path.join(repository, "node_modules", name), path.join(modules, name));
  }
  symlinkSync(path.join(repository, "node_modules", typescript), path.join(modules, "typescript"));
  symlinkSync(path.join(repository, "node_modules", patch), path.join(modules, "ts-patch"));
  writeFileSync(
    path.join(project, "package.json"),
    JSON.stringify({ type: module === "NodeNext" ? "module" : "commonjs" }),
  );
  writeFileSync(path.join(project, "src/flow.ts"), source);
  writeFileSync(path.join(project, "src/types.d.ts"), types);
  const compilerOptions = {
    target: "ES2022",
    module,
    moduleResolution: module === "NodeNext" ? module : "Bundler",
    types: [],
    outDir: "out",
    rootDir: "src",
    plugins: [{ transform: path.join(built, "transformer/index.js"), ...plugin }],
  };
  writeFileSync(path.join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["src"] }));
  try {
    tspc(project, "-p", ".");
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${stdout}${stderr}`);
  }
  return readFileSync(path.join(project, "out/flow.js"), "utf8");
}

function tspc(project: string, ...args: string[]): string {
  const script = path.join(project, "node_modules/ts-patch/bin/tspc.js");
  const flags = ["--preserve-symlinks", "--preserve-symlinks-main"];
  return execFileSync(process.execPath, [...flags, script, ...args], { cwd: project, stdio: "pipe", encoding: "utf8" });
}

describe.each([
  ["ts-patch", "typescript"],
  ["ts-patch-3", "typescript-5.9"],
])("%s with %s", (patch, typescript) => {
  it("applies the transformer to ES modules", () => {
    const output = compileProject(`${patch}-esm`, patch, typescript, {});
    expect(output).toContain("await step.at($1, ");
    expect(output).toContain('r.module("src/flow.ts"');
  }, 60_000);

  it("applies the transformer to CommonJS", () => {
    const output = compileProject(`${patch}-cjs`, patch, typescript, {}, "ESNext");
    expect(output).toContain("step.at($2, ");
  }, 60_000);

  it("is what runs", () => {
    const project = path.join(folder, `${patch}-esm`);
    const version = tspc(project, "-v");
    expect(version).toContain(typescript === "typescript" ? "Version 6." : "Version 5.9.");
  });

  it("refuses an option that does not exist", () => {
    expect(() => compileProject(`${patch}-bad`, patch, typescript, { includes: ["src"] })).toThrow(
      /no option "includes"/,
    );
  }, 60_000);
});

/** `stepmark transform`, run as the program that npm installs. */
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { SourceMap } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { installPackage } from "../hosts/project.js";

const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "stepmark-cli-")));
const flow = `import { step } from "stepmark";\nexport const go = () => step(async () => "here");\n`;

beforeAll(() => {
  mkdirSync(path.join(folder, "node_modules"));
  installPackage(path.join(folder, "node_modules"));
  write("package.json", "{}");
  write("src/flow.ts", flow);
  write("src/deep/helper.ts", "export const each = async (fn: () => unknown) => fn();\n");
  write("src/deep/data.json", "{}");
  write("src/node_modules/lib/index.js", "");
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, text: string): void {
  mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
  writeFileSync(path.join(folder, name), text);
}

const read = (name: string): string => readFileSync(path.join(folder, name), "utf8");

function stepmark(...args: string[]): { stdout: string; stderr: string; status: number | null } {
  const program = path.join(folder, "node_modules/stepmark/dist/cli/main.js");
  return spawnSync(process.execPath, [program, ...args], { cwd: folder, encoding: "utf8" });
}

describe("stepmark transform", () => {
  it("keeps the layout, copies what it does not change, and writes maps", () => {
    const { stdout, status } = stepmark("transform", "src", "--out", "made");
    expect({ stdout, status }).toEqual({ stdout: "3 files from src to made, 1 transformed\n", status: 0 });
    expect(read("made/deep/helper.ts")).toBe(read("src/deep/helper.ts"));
    expect(read("made/deep/data.json")).toBe("{}");
    expect(existsSync(path.join(folder, "made/node_modules"))).toBe(false);
    const code = read("made/flow.ts");
    expect(code).toContain('r.module("src/flow.ts", ');
    expect(code).toMatch(/\n\/\/# sourceMappingURL=flow\.ts\.map\n$/);
    const map = JSON.parse(read("made/flow.ts.map")) as ConstructorParameters<typeof SourceMap>[0];
    expect(map.sources).toEqual(["../src/flow.ts"]);
    const [, line] = code.split("\n");
    const { originalLine, originalColumn } = new SourceMap(map).findEntry(1, line!.indexOf('"here"')) as never;
    expect([originalLine, originalColumn]).toEqual([1, flow.split("\n")[1]!.indexOf('"here"')]);
  });

  it("takes include and root from its options, or from package.json", () => {
    stepmark("transform", "src", "--out", "made", "--include", "deep/helper.ts", "--root", "src");
    expect(read("made/deep/helper.ts")).toContain('r.module("deep/helper.ts", ');
    write("package.json", JSON.stringify({ stepmark: { include: ["src/deep/helper.ts"] } }));
    stepmark("transform", "src", "--out", "made");
    expect(read("made/deep/helper.ts")).toContain('r.module("src/deep/helper.ts", ');
    write("package.json", "{}");
  });

  it("may write below its input, and does not read that again", () => {
    write("all/flow.ts", flow);
    expect(stepmark("transform", "all", "--out", "all/made").stdout).toContain("1 files from all");
    expect(stepmark("transform", "all", "--out", "all/made").stdout).toContain("1 files from all");
    expect(read("all/flow.ts")).toBe(flow);
  });

  it("does not write over its input, by whatever name", () => {
    symlinkSync(path.join(folder, "src"), path.join(folder, "link"));
    for (const out of ["src", "./src/", ".", "link"]) {
      expect(stepmark("transform", "src", "--out", out)).toMatchObject({ status: 2, stdout: "" });
    }
    expect(stepmark("transform", "link", "--out", "src").stderr).toContain("could replace the sources");
    expect(read("src/flow.ts")).toBe(flow);
  });

  it.each([
    [["transform"], "one folder has to be named"],
    [["transform", "src"], "--out has to say where to write"],
    [["transform", "nowhere", "--out", "made"], "there is no folder nowhere"],
    [["transform", "src", "--output", "made"], "--output"],
    [["transfrom"], 'no command "transfrom"'],
  ])("%j ends with 2 and says why", (args, message) => {
    const { status, stderr } = stepmark(...args);
    expect(status).toBe(2);
    expect(stderr).toContain(message);
    expect(stderr).toContain("Usage: stepmark");
  });

  it("ends with 1 if code has been compiled before", () => {
    write(
      "compiled/flow.js",
      `import { step } from "stepmark"; __awaiter(this, void 0, void 0, function* () { yield step(f); });`,
    );
    const { status, stderr } = stepmark("transform", "compiled", "--out", "made");
    expect(status).toBe(1);
    expect(stderr).toMatch(/^stepmark transform: stepmark has to see the source of compiled\/flow\.js/);
  });
});

it("stepmark tells its commands and its version", () => {
  expect(stepmark("--help").stdout).toContain("transform");
  expect(stepmark("transform", "--help").stdout).toContain("--include GLOB");
  expect(stepmark("--version").stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

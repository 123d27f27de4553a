/** The plugin's options, and the paths that modules get. */
import ts from "typescript";
import { describe, expect, it } from "vitest";
import stepmarkTransformer, { transformFile } from "../../transformer/index.js";
import { includes, modulePath } from "../../transformer/options.js";

describe("options", () => {
  it("that mean nothing are refused, with those that exist", () => {
    expect(() => transformFile(ts, { includes: [] } as never)).toThrow(
      'no option "includes"; its options are include, root',
    );
    expect(() => transformFile(ts, { include: "src" } as never)).toThrow('"include" has to be a list');
    expect(() => transformFile(ts, { root: 1 } as never)).toThrow('"root" has to be a path');
  });

  it("of ts-patch itself pass, unless they put us in the wrong place", () => {
    const program = ts.createProgram([], {});
    const config = { transform: "stepmark/transformer", type: "program", import: "default", after: false };
    expect(() => stepmarkTransformer(program, config as never, { ts })).not.toThrow();
    for (const place of ["after", "afterDeclarations"]) {
      expect(() => stepmarkTransformer(program, { [place]: true } as never, { ts })).toThrow(`remove "${place}"`);
    }
  });
});

describe("a module's path", () => {
  it.each([
    ["/project", "/project/src/a.ts", "src/a.ts"],
    ["/project", "src/a.ts", "src/a.ts"],
    ["/project/packages/x", "/project/lib/a.ts", "../../lib/a.ts"],
    ["/project", "/project/e\u0301.ts", "\u00e9.ts"],
  ])("in %s, %s is %s", (root, file, expected) => {
    expect(modulePath(root, file)).toBe(expected);
  });

  it.each([
    ["the tsconfig's folder", { configFilePath: "/p/q/tsconfig.json" }, {}, "a.ts"],
    ["the root option", { configFilePath: "/p/q/tsconfig.json" }, { root: ".." }, "q/a.ts"],
    ["not rootDir", { configFilePath: "/p/q/tsconfig.json", rootDir: "/p", outDir: "/p/out" }, {}, "a.ts"],
  ])("is relative to %s", (_name, compilerOptions, config, expected) => {
    const host = ts.createCompilerHost({});
    const text = `import { step } from "stepmark"; export const f = () => step(g);`;
    host.getSourceFile = (name, target) => (name === "/p/q/a.ts" ? ts.createSourceFile(name, text, target) : undefined);
    const options = {
      ...compilerOptions,
      noLib: true,
      types: [],
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
    };
    const program = ts.createProgram(["/p/q/a.ts"], options, host);
    let output = "";
    program.emit(undefined, (_file, code) => (output = code), undefined, false, {
      before: [stepmarkTransformer(program, config, { ts })],
    });
    expect(output).toContain(`r.module("${expected}"`);
  });
});

describe("include", () => {
  it.each([
    ["src", "src/a.ts", true],
    ["./src/", "src/b/a.ts", true],
    ["src/a.ts", "src/a.ts", true],
    ["src", "src2/a.ts", false],
    ["src/*.ts", "src/a.ts", true],
    ["src/*.ts", "src/b/a.ts", false],
    ["src/**/*.ts", "src/a.ts", true],
    ["src/**/*.ts", "src/b/c/a.ts", true],
    ["**/flows", "x/y/flows/a.ts", true],
    ["**/*.flow.ts", "pay.flow.ts", true],
    ["src/{a,b}.ts", "src/b.ts", true],
    ["src/{a,b}.ts", "src/c.ts", false],
    ["src/?.ts", "src/ab.ts", false],
    ["src/a+(b).ts", "src/a+(b).ts", true],
    ["a,b.ts", "a,b.ts", true],
  ])("%s and %s: %s", (pattern, module, expected) => {
    expect(includes([pattern])(module)).toBe(expected);
  });
});

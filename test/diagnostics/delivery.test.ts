/** How diagnostics are shaped, made louder and quieter, silenced in the source, and handed to hosts. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { formatDiagnostic } from "../../transformer/diagnostics/index.js";
import { faultOf, isOff, levelOf } from "../../transformer/diagnostics/levels.js";
import { kinds } from "../../transformer/diagnostics/table.js";
import { transformText } from "../../transformer/transform-text.js";
import { diagnosticsOf, told, toldIn } from "./diagnose.js";

const flow = `import { step, workflow } from "stepmark";
export const w = workflow("w", async () => {
  step(() => 1);
});
`;

describe("a diagnostic", () => {
  it("is plain data with code, place, what is wrong and the cure", () => {
    expect(diagnosticsOf(flow)).toEqual([
      {
        code: "STEPMARK2001",
        category: "warning",
        message:
          "Nobody awaits the promise of `step`. Await or return it, or write `void` before it if the workflow need not know how it ends. [STEPMARK2001]",
        file: "flow.ts",
        line: 3,
        column: 3,
        start: flow.indexOf("step(()"),
        length: 4,
      },
    ]);
  });

  it("is one line for a terminal", () => {
    expect(formatDiagnostic(diagnosticsOf(flow)[0]!)).toMatch(
      /^flow\.ts:3:3 - warning STEPMARK2001: Nobody awaits .* ends\.$/,
    );
    const general = { ...diagnosticsOf(flow)[0]!, file: "" };
    expect(formatDiagnostic(general)).toMatch(/^warning STEPMARK2001: Nobody/);
  });

  it("comes in the order of the text, with the columns of CRLF files and files with a byte order mark", () => {
    const text = `\uFEFF${flow.replace("step(() => 1);", "await step(Date.now);\n  step(() => Math.abs(1));\n  sleep;")}`;
    expect(diagnosticsOf(text.replaceAll("\n", "\r\n")).map(({ line, column }) => [line, column])).toEqual([[4, 3]]);
  });

  it("has a section of the documentation", () => {
    const docs = readFileSync(new URL("../../docs/diagnostics.md", import.meta.url), "utf8");
    const sections = [...docs.matchAll(/^### (STEPMARK\d+) · (.+)$/gm)].map(([, code, title]) => [code, title]);
    expect(sections).toEqual(Object.entries(kinds).map(([code, { title }]) => [code, title]));
  });
});

describe("levels", () => {
  it.each([
    [undefined, "STEPMARK2001", "warn"],
    ["error", "STEPMARK2001", "error"],
    ["off", "STEPMARK2001", "off"],
    [{ STEPMARK2001: "off" }, "STEPMARK2001", "off"],
    [{ STEPMARK2001: "off" }, "STEPMARK3001", "warn"],
    [{ default: "error", STEPMARK2001: "warn" }, "STEPMARK2001", "warn"],
    [{ default: "error" }, "STEPMARK3001", "error"],
    ["error", "STEPMARK7001", "off"],
    [{ STEPMARK7001: "error" }, "STEPMARK7001", "error"],
  ] as const)("%j: %s is %s", (option, code, expected) => {
    expect(levelOf(option, code)).toBe(expected);
  });

  it.each([
    ["off", true],
    ["warn", false],
    [{ default: "off" }, true],
    [{ default: "off", STEPMARK1001: "warn" }, false],
    [{ STEPMARK1001: "off" }, false],
  ] as const)("%j is off: %s", (option, expected) => {
    expect(isOff(option)).toBe(expected);
  });

  it.each([
    ["loud", /has to be/],
    [1, /has to be/],
    [["off"], /has to be/],
    [null, /has to be/],
    [{ STEPMARK1: "off" }, /no code/],
    [{ toString: "off" }, /no code/],
    [{ STEPMARK1001: "loud" }, /levels are/],
  ])("%j is refused", (option, expected) => {
    expect(faultOf(option)).toMatch(expected);
    expect(() => transformText(flow, { file: "/flow.ts", root: "/", diagnostics: option as never })).toThrow(expected);
  });

  it("reach the diagnostics", () => {
    expect(diagnosticsOf(flow, { diagnostics: "error" })[0]!.category).toBe("error");
    expect(diagnosticsOf(flow, { diagnostics: "off" })).toEqual([]);
    expect(diagnosticsOf(flow, { diagnostics: { STEPMARK2001: "off" } })).toEqual([]);
  });
});

describe("a comment on the line before silences one code in one place", () => {
  it.each([
    "// stepmark-ignore STEPMARK2001: nobody needs it\nstep(f);",
    "/* stepmark-ignore STEPMARK2001 */\nstep(f);",
    "// stepmark-ignore STEPMARK3001, STEPMARK2001: both\nstep(f, Date.now());",
    "// stepmark-ignore STEPMARK2001: nobody needs it\n// more of it\nstep(f);",
  ])("%s", (statements) => {
    expect(toldIn(statements)).toEqual([]);
  });

  it.each([
    "// stepmark-ignore STEPMARK3001: another code\nstep(f);",
    "// stepmark-ignore\nstep(f);",
    "// stepmark-ignore STEPMARK2001: too far away\n\nstep(f);",
    "const text = 'stepmark-ignore STEPMARK2001';\nstep(f, text);",
    "await step(f); // stepmark-ignore STEPMARK2001: of the line before\no.x();\nstep(f);",
  ])("but not %s", (statements) => {
    expect(toldIn(statements)).toEqual(["2001 step"]);
  });
});

describe("hosts that take text", () => {
  const options = { file: "/project/flow.ts", root: "/project" };

  it("get the diagnostics with the code", () => {
    const result = transformText(flow, options)!;
    expect(result.code).toContain("step.at(");
    expect(result.diagnostics.map(({ code, file, line }) => [code, file, line])).toEqual([
      ["STEPMARK2001", "/project/flow.ts", 3],
    ]);
    expect(transformText(flow.replace("step(()", "await step(()"), options)!.diagnostics).toEqual([]);
    expect(transformText(flow, { ...options, diagnostics: "off" })!.diagnostics).toEqual([]);
  });

  it("get them also with code that is left as it is", () => {
    const barrel = 'export { step } from "stepmark";\n';
    const { code, sites, diagnostics } = transformText(barrel, options)!;
    expect({ code, sites }).toEqual({ code: barrel, sites: [] });
    expect(diagnostics.map((diagnostic) => diagnostic.code)).toEqual(["STEPMARK1008"]);
    expect(transformText(barrel, { ...options, diagnostics: "off" })).toBeUndefined();
    expect(transformText('import { workflow } from "stepmark";\n', options)).toBeUndefined();
  });

  it("get the same code whether diagnostics are on or off", () => {
    const { code } = transformText(flow, options)!;
    expect(transformText(flow, { ...options, diagnostics: "off" })!.code).toBe(code);
    expect(transformText(flow, { ...options, diagnostics: { STEPMARK7001: "error" } })!.code).toBe(code);
  });
});

it("files with syntax errors are left to the compiler", () => {
  expect(transformText(`${flow}step(`, { file: "/flow.ts", root: "/" })).toBeUndefined();
});

it("included files are looked at without an import", () => {
  expect(told("export const f = async (g: any) => { eval('1'); return g(); };", { included: true })).toEqual([]);
});

/** Chains of operators nest as deep as they are long, and generated code has long ones: they cost no stack. */
import { describe, expect, it } from "vitest";
import { refuseCompiled } from "../../transformer/hosts/compiled-code.js";
import { transformText } from "../../transformer/transform-text.js";
import { compile, execute, oneSetting, withAppliers } from "./compile.js";

const length = 4000;
const parts = Array.from({ length }, (_, index) => index);
const imports = `import { step } from "stepmark";\n`;

describe.each(withAppliers(oneSetting))("on $applier", (as) => {
  it("a table of text at module level", async () => {
    const text = parts.map((part) => `"${part % 10}"`).join(" +\n");
    const source = `${imports}const table = ${text};\nexport const run = async () => step((text: string) => text.length, table);`;
    const { outcome } = await execute(compile(source, as), as);
    expect(outcome).toEqual({ log: [], result: String(length) });
  });

  it("calls between operators, each of which is marked", async () => {
    const some = parts.slice(0, 1200);
    const sum = some.map((part) => `f(${part % 3})`).join(" + ");
    const source = `${imports}const f = (x: number) => x;\nexport const run = async () => (await step(() => 1)) + ${sum};`;
    const { outcome, trace } = await execute(compile(source, as), as);
    expect(outcome.result).toBe(String(1 + some.reduce((total, part) => total + (part % 3), 0)));
    expect(trace.marks).toHaveLength(some.length);
  });
});

it("such code is planned, diagnosed and fingerprinted", () => {
  const flow = `export const w = workflow("w", async (x: any) => { const y = ${parts.map((part) => `x.a${part}`).join(" + ")}; return step(g, y); });`;
  const source = `import { step, workflow } from "stepmark";\nconst g = async (x: any) => x;\n${flow}`;
  const file = "/project/src/flow.ts";
  expect(transformText(source, { file, root: "/project" })?.diagnostics).toEqual([]);
  expect(() => refuseCompiled(`${source}\n// __awaiter`, file, "src/flow.ts")).not.toThrow();
});

/** Compilers without the transformer API. */
import ts from "typescript";
import { expect, it } from "vitest";
import stepmarkTransformer, { transformFile } from "../../transformer/index.js";

/** All that TypeScript 7 has to say by its name. */
const seven = { version: "7.0.2", versionMajorMinor: "7.0" } as unknown as typeof ts;

it("TypeScript 7 is told which hosts there are", () => {
  const program = ts.createProgram([], {});
  for (const provoke of [() => transformFile(seven), () => stepmarkTransformer(program, {}, { ts: seven })]) {
    expect(provoke).toThrow("which TypeScript 7.0.2 does not have. Depend on `typescript@6`");
    expect(provoke).toThrow("stepmark/vite");
  }
});

it("so is what is no compiler at all", () => {
  expect(() => transformFile(undefined as never)).toThrow("which this compiler does not have");
});

/** Every public error has a code of its own and a section in docs/errors.md. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import * as errors from "../runtime/errors.js";

const source = readFileSync(new URL("../runtime/errors.ts", import.meta.url), "utf8");
const docs = readFileSync(new URL("../docs/errors.md", import.meta.url), "utf8");
const codes = [...source.matchAll(/super\(\s*"([A-Z_]+)"/g)].map(([, code]) => code!);
const classes = Object.entries(errors).filter(([name]) => name !== "StepmarkError" && name !== "NonRetryableError");

describe("errors", () => {
  it("have a code each", () => {
    expect(new Set(codes).size).toBe(codes.length);
    expect(codes.length).toBe(classes.length);
    for (const [name, type] of classes) expect(source, name).toContain(`class ${type.name} extends StepmarkError`);
  });

  it("have a section each, and no section is left over", () => {
    expect([...docs.matchAll(/^## ([A-Z_]+)$/gm)].map(([, code]) => code).sort()).toEqual([...codes].sort());
    for (const [name] of classes) expect(docs, name).toContain(`\`${name}\``);
  });

  it("tell the run, the key, the place and the cure", () => {
    const error = new errors.ReplayMismatchError("It differs", "Mend it.", { runId: "r", key: "w/a", at: "flow.ts:3" });
    expect(error.message).toBe('It differs (run "r", key w/a, at flow.ts:3). Mend it. [REPLAY_MISMATCH]');
    expect(error).toMatchObject({
      name: "ReplayMismatchError",
      code: "REPLAY_MISMATCH",
      runId: "r",
      key: "w/a",
      at: "flow.ts:3",
    });
    expect(error).toBeInstanceOf(errors.StepmarkError);
  });
});

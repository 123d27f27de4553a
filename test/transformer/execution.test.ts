/** Transformed code does what the source does: every snippet is executed both ways, in every setting (I9, I10). */
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { compile, execute, moduleOf, planOf, type Setting, settings } from "./compile.js";
import { chains } from "./corpus/chains.js";
import { functions } from "./corpus/functions.js";
import { loops } from "./corpus/loops.js";
import { modules } from "./corpus/modules.js";
import { positions } from "./corpus/positions.js";

const corpora = { positions, chains, loops, functions, modules };

describe.each(settings)("$name", (setting) => {
  for (const [topic, corpus] of Object.entries(corpora)) {
    describe(topic, () => {
      it.each(Object.entries(corpus))("%s", async (_name, snippet) => {
        const source = moduleOf(snippet);
        const original = compilePlain(source, setting);
        // TypeScript itself fails on `o?.#m()` for old targets.
        if (original === undefined) return;
        const plain = await execute(original, setting);
        const code = compile(source, setting);
        const transformed = await execute(code, setting);
        expect(transformed.outcome, code).toEqual(plain.outcome);
        // Node 20 lacks `using` and `accessor`, which the newest target leaves as they are.
        if (plain.outcome.error?.startsWith("SyntaxError")) return;
        expect(transformed.trace.tables, code).toHaveLength(1);
        expect(transformed.trace.tables[0]!.rows).toEqual(planOf(source, ts)!.rows);
        expect(transformed.trace.untransformed, "calls without an identity").toBe(0);
      });
    });
  }
});

function compilePlain(source: string, setting: Setting): string | undefined {
  try {
    return compile(source, setting, { transform: false });
  } catch {
    return undefined;
  }
}

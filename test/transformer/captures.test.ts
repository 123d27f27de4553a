/** What an inline step body closes over is passed along, by the function that holds it. */
import { describe, expect, it } from "vitest";
import { compile, execute, moduleOf, oneSetting, planOf, withAppliers } from "./compile.js";

const both = withAppliers(oneSetting);

/** Captured names of the only site with captures, by frame. */
function captured(statements: string): string[] {
  const plan = planOf(
    `import { step, sleep } from "stepmark"; import { imported } from "x"; const top = 1; async function f(this: any, p: any, { q, r: [s] }: any) { ${statements} }`,
  )!;
  return plan.calls.flatMap((call) =>
    call.kind === "site"
      ? call.captures.map(({ frame, names }) => `${frame.kind === "variable" ? frame.name : frame.kind}: ${names}`)
      : [],
  );
}

describe("captures", () => {
  it.each([
    ["step(() => p);", "$1: p"],
    ["step(() => [s, q, p, q]);", "$1: s,q,p"],
    ["let a = 1; const b = 2; var c = 3; step(() => a + b + c);", "$1: a,b,c"],
    ["try {} catch (e) { step(() => e); }", "$1: e"],
    ["for (const [i, { j }] of p) step(() => [j, i]);", "$1: j,i"],
    ["step(() => ({ p, q: s }));", "$1: p,s"],
    ["step((x) => { const y = 1; return x + y + p; });", "$1: p"],
    ["step(() => p.q.s);", "$1: p"],
    ["step(() => p[q]);", "$1: p,q"],
    ["step((x = p) => x);", "$1: p"],
    ["step(() => () => () => p);", "$1: p"],
    ["step(function () { return p; });", "$1: p"],
    ['step("name", () => p);', "$1: p"],
    ["step({ retries: 1 }, async () => p);", "$1: p"],
    ["step((() => p) as any);", "$1: p"],
    ["step(() => { const { p: z = q } = s; return z; });", "$1: q,s"],
    ["step(() => { p++; p += 1; });", "$1: p"],
    ["step(() => { class A { p = q; [s]() {} } return A; });", "$1: q,s"],
    [`step(() => \`\${p}\`);`, "$1: p"],
    ["step(() => typeof p);", "$1: p"],
    ["const g = async () => { const z = 1; return step(() => [p, z, q]); };", "$1: p,q | $2: z"],
  ])("%s are %s", (statements, expected) => {
    expect(captured(statements).join(" | ")).toBe(expected);
  });

  it.each([
    "step(() => top);",
    "step(() => imported(1));",
    "step(() => undefinedGlobal);",
    "step(() => f);",
    "function g() {} step(() => g());",
    "class G {} step(() => new G());",
    "const g = () => 1; step(() => g());",
    "const g = (async function () {}) as any; step(() => g());",
    "step(() => { p = 1; });",
    "step(() => ({ p: 1 }).p);",
    "step(() => { p: for (;;) break p; });",
    "step(() => null as typeof p);",
    "step((p) => p);",
    "step(() => { const p = 1; return p; });",
    "step(() => { try {} catch (p) { return p; } });",
    "step(function p() { return p; });",
    "step(() => sleep(1));",
    "step(() => { type p = 1; let x: p; return x; });",
    "step(() => this.p);",
    "step(g, p);",
    "sleep(() => p);",
  ])("%s has none", (statements) => {
    expect(captured(statements)).toEqual([]);
  });

  it.each(both)("are read when they are asked for, in the function that declares them: $name", async (as) => {
    const source = `const outer = async (a: any) => { const inner = async (b: any) => { const early = step(() => [a, b, late]); const late = 3; void late; return early; }; return inner(a + 1); };
      return outer(1);`;
    const { trace } = await execute(compile(moduleOf(source.replace(", late]", "]")), as), as);
    expect(trace.identities[0]!.captures).toEqual({ "run{}>outer{}": [1], "run{}>outer{}>inner{}": [2] });
    const early = await execute(compile(moduleOf(source), as), as);
    expect(early.trace.identities[0]!.captures).toEqual({ error: [] });
  });

  it.each(both)("of a parameter's initialiser go by a frame that can be seen there: $name", async (as) => {
    const source = "const f = async (a: any, b = step(() => a)) => [await b, await step(() => a)]; return f(7);";
    const { trace, outcome } = await execute(compile(moduleOf(source), as), as);
    expect(outcome.result).toBe("[7,7]");
    expect(trace.identities.map(({ captures }) => captures)).toEqual([{ "run{}": [7] }, { "run{}>f{}": [7] }]);
  });
});

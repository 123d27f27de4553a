/** Programs with errors that the edits would take away are left alone, for the tool that compiles them to report. */
import { runInNewContext } from "node:vm";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { plan } from "../../transformer/plan/index.js";
import { transformText } from "../../transformer/transform-text.js";
import { compile, oneSetting, withAppliers } from "./compile.js";

const head = `const { step } = require("stepmark");\n`;
const options = { file: "/project/a.js", root: "/project" };

function edited(text: string): string | undefined {
  return transformText(head + text, options)?.code;
}

function planned(text: string): boolean {
  const file = ts.createSourceFile("a.js", head + text, ts.ScriptTarget.Latest);
  return plan(ts, file, { path: "a.js", included: false }) !== undefined;
}

describe("a declaration as a loop's body, which would get a block around it", () => {
  it.each([
    `while (go()) function f() { return step(g); }`,
    `for (;;) function f() { return step(g); }`,
    `for (const x of xs) a: function f() { return step(g); }`,
    `do class A { m() { return step(g); } } while (go());`,
    `for (const x in o) let y = step(g);`,
    `for (const x in o) a: b: const y = step(g);`,
  ])("%s", (source) => {
    expect(planned(source)).toBe(false);
  });

  it("not in a block, nor a `var`, nor a branch", () => {
    expect(planned(`while (go()) { function f() { return step(g); } }`)).toBe(true);
    expect(planned(`while (go()) var y = step(g);`)).toBe(true);
    expect(planned(`while (go()) if (x) { let y = step(g); }`)).toBe(true);
  });
});

describe("a `new` that is assigned to, which would become a call", () => {
  it.each([
    `const f = () => { new C() = step(g); };`,
    `const f = () => { (new C()) += step(g); };`,
    `const f = () => { new C()++; return step(g); };`,
    `const f = () => { --new C(); return step(g); };`,
    `const f = () => { for (new C() of xs) step(g); };`,
  ])("%s", (source) => {
    expect(planned(source)).toBe(false);
  });

  it("not its members, nor a comparison", () => {
    expect(planned(`const f = () => { new C().x = step(g); };`)).toBe(true);
    expect(planned(`const f = () => new C() == step(g);`)).toBe(true);
    expect(planned(`const f = () => { for (new C().x of xs) step(g); };`)).toBe(true);
  });
});

it.each(withAppliers(oneSetting))("an initialiser of a generator's rest parameter, on $applier", (setting) => {
  const source = `import { step } from "stepmark"; export const f = function* (...xs = []) { yield step(() => xs); };`;
  const code = compile(source, setting)
    .replace(/^import .*?;/m, "")
    .replace("export ", "");
  expect(() => runInNewContext(code)).toThrow("Rest parameter may not have a default initializer");
});

describe("a head that reads the names that it is about to bind, whose binding would move into the body", () => {
  it.each([
    `const f = async () => { for (const [a = step(g)] of [a]) a; };`,
    `const f = async () => { for (let { a = step(g), b } of xs.map(() => b)) a; };`,
    `const f = async () => { for (const [a = step(g)] in a) a; };`,
  ])("%s", (source) => {
    expect(planned(source)).toBe(false);
  });

  it("not of the same name only", () => {
    expect(planned(`const f = async () => { for (const { a = step(g) } of xs.a) a; };`)).toBe(true);
    expect(planned(`const f = async () => { for (const { a = step(g) } of xs.map((a) => a)) a; };`)).toBe(true);
    expect(planned(`const f = async () => { for (var [a = step(g)] of [a]) a; };`)).toBe(true);
    expect(planned(`const f = async () => { for (const [a] of [step(g)]) a; };`)).toBe(true);
  });
});

it("names that direct `eval` may bring in are not taken for ours", () => {
  const code = edited(`exports.f = () => { eval("var $1 = 7, $t1, $s"); return step(g, $1); };`)!;
  expect(code).toContain("const $$1 = $$s().enter(0, 0);");
  expect(code).toContain("step.at($$1, 1, 0, 0, g, $1)");
});

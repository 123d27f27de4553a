/** Names of places: readable, unique in their function, and unmoved by edits elsewhere. */
import { describe, expect, it } from "vitest";
import { RowKind } from "../../runtime/scope/site-table.js";
import { places, planOf } from "./compile.js";

const header = `import { step, waitFor, sleep, now, random, uuid, child, publish, changed, workflow, keyed } from "stepmark";\n`;

function rowsOf(source: string) {
  return planOf(header + source)!.rows;
}

function anchorsIn(statements: string, kind: number): string[] {
  return rowsOf(`async function f(this: any) { ${statements} }`)
    .filter(([rowKind, , container]) => rowKind === kind && container === 0)
    .map(([, anchor]) => anchor);
}

describe("a site is named after what it calls", () => {
  it.each([
    ["step(charge, x)", "charge"],
    ["step(api.charge)", "charge"],
    ["step(this.charge)", "charge"],
    ["step(api?.charge)", "charge"],
    ['step(api["charge"])', "charge"],
    ["step(charge as any)", "charge"],
    ["step((charge))", "charge"],
    ['step("pay", charge)', "pay"],
    ["step(`pay`, charge)", "pay"],
    ['step({ name: "pay" }, charge)', "pay"],
    ['step({ "name": "pay", retries: 1 }, charge)', "pay"],
    ["step({ retries: 3 }, charge)", "charge"],
    ["step({ name: x }, charge)", "charge"],
    ["step({ retries: 3 }, () => charge(1))", "charge"],
    [`step(\`pay \${x}\`, charge)`, "charge"],
    ["step(() => charge(x))", "charge"],
    ["step(async () => await api.charge(x))", "charge"],
    ["step(async () => { return charge(x); })", "charge"],
    ["step(async () => { await charge(x); })", "charge"],
    ["step(() => (charge(x) as any)!)", "charge"],
    ["step(() => charge?.(x))", "charge"],
    ["step(() => new Charge(x))", "Charge"],
    ["step(() => charge(x).then((r) => r.json()).catch(g))", "charge"],
    ["step(async function charge() { return 1; })", "charge"],
    ["step(async () => { const a = charge(x); return a; })", "step"],
    ["step(async () => 5)", "step"],
    ["step(() => {})", "step"],
    ["step(makeBody(x))", "makeBody"],
    ["step(o.makeBody(x))", "makeBody"],
    ["step(...xs)", "step"],
    ["step(c ? a : b)", "step"],
    ["step(tools[i])", "step"],
    ['step("", charge)', "step"],
    ['step("a~1%", charge)', "a%7E1%25"],
    ['waitFor("approve")', "approve"],
    ["waitFor(name)", "waitFor"],
    ["sleep(1)", "sleep"],
    ["now()", "now"],
    ["random()", "random"],
    ["uuid()", "uuid"],
    ["child(fulfil, 1)", "fulfil"],
    ["child(flows.fulfil, 1)", "fulfil"],
    ['publish("progress", 1)', "progress"],
    ['changed("charge")', "changed:charge"],
    ['changed("a~1%")', "changed:a%7E1%25"],
    ["changed(id)", "changed"],
  ])("%s is %s", (call, anchor) => {
    expect(anchorsIn(call, RowKind.site)).toEqual([anchor]);
  });
});

describe("a marked call is named after its callee", () => {
  it.each([
    ["g(x)", "g"],
    ["o.m(x)", "m"],
    ["o?.m?.(x)", "m"],
    ['o["m"](x)', "m"],
    ["this.m(x)", "m"],
    ["o[k](x)", "call"],
    ["(() => {})()", "fn"],
    ["(function () {})()", "fn"],
    ["(0, o.m)(x)", "m"],
    ["new C(x)", "C"],
    ["new ns.C", "C"],
    ["this.#m(x)", "#m"],
  ])("%s is %s", (call, anchor) => {
    expect(anchorsIn(call, RowKind.call)).toEqual([anchor]);
  });

  it("a call of a call has no name of its own", () => {
    expect(anchorsIn("g()(1)", RowKind.call).sort()).toEqual(["call", "g"]);
  });
});

describe("ordinals", () => {
  it("count places of one name in one function, by where they end", () => {
    expect(anchorsIn("step(a); step(b); step(a); step(() => a());", RowKind.site)).toEqual(["a", "b", "a~1", "a~2"]);
    const rows = rowsOf("async function f() { step(a, await step(a, await step(a))); }");
    const sites = rows.filter(([kind]) => kind === RowKind.site);
    expect(sites.map(([, anchor, , , shared]) => [anchor, shared])).toEqual([
      ["a~2", 3],
      ["a~1", 3],
      ["a", 3],
    ]);
  });

  it("are not moved by a call put around another", () => {
    const inner = "g(1); g(2);";
    expect(anchorsIn(inner, RowKind.call)).toEqual(["g", "g~1"]);
    expect(anchorsIn("g(g(1)); g(2);", RowKind.call).sort()).toEqual(["g", "g~1", "g~2"]);
    const around = rowsOf("async function f() { g(g(1)); }").filter(([kind]) => kind === RowKind.call);
    expect(around.map(([, anchor]) => anchor)).toEqual(["g~1", "g"]);
  });

  it("count calls that are not marked, so that pruning changes no name", () => {
    expect(anchorsIn("Promise.all([]); x.all(); JSON.parse(s); x.parse();", RowKind.call)).toEqual([
      "all~1",
      "parse~1",
    ]);
  });

  it("count sites and calls apart, and start anew in each function", () => {
    const rows = rowsOf("async function f() { charge(); step(charge); g(() => step(charge)); }");
    expect(places(rows, RowKind.site)).toEqual(["f{}>charge", "f{}>g()>charge"]);
    expect(places(rows, RowKind.call)).toEqual(["f{}>charge", "f{}>g"]);
  });

  it("do not depend on code that stands in no way before them", () => {
    const before = places(rowsOf("async function f() { step(a); }"), RowKind.site);
    const after = places(
      rowsOf(
        "const x = () => step(a); async function g() { step(a); }\n\nasync function f() { if (y) { try { step(a); } finally {} } }",
      ),
      RowKind.site,
    );
    expect(after).toEqual(expect.arrayContaining(before));
  });
});

describe("functions", () => {
  const call = "h();";

  it.each([
    [`function f() { ${call} }`, "f{}"],
    [`const f = () => { ${call} };`, "f{}"],
    [`const f = (async () => { ${call} }) as any;`, "f{}"],
    [`const f = function g() { ${call} };`, "g{}"],
    [`x.f = () => { ${call} };`, "f{}"],
    [`f = () => { ${call} };`, "f{}"],
    [`f ??= () => { ${call} };`, "f{}"],
    [`const o = { f: () => { ${call} } };`, "f{}"],
    [`const o = { f() { ${call} } };`, "f{}"],
    [`const o = { "a b"() { ${call} } };`, "a b{}"],
    [`const o = { [k]() { ${call} } };`, "[k]{}"],
    [`const o = { [Symbol.iterator]() { ${call} } };`, "[iterator]{}"],
    [`const o = { get f() { ${call} } };`, "get f{}"],
    [`const { f = () => { ${call} } } = o;`, "f{}"],
    [`class A { f() { ${call} } }`, "A.f{}"],
    [`class A { get f() { ${call} } }`, "A.get f{}"],
    [`class A { set f(v) { ${call} } }`, "A.set f{}"],
    [`class A { constructor() { ${call} } }`, "A.constructor{}"],
    [`class A { static { ${call} } }`, "A.static{}"],
    [`class A { f = () => { ${call} }; }`, "A.f{}"],
    [`class A { f = h(); }`, "A.f{}"],
    [`class A { #f() { ${call} } }`, "A.#f{}"],
    [`const A = class { f() { ${call} } };`, "A.f{}"],
    [`export default class { f() { ${call} } }`, "class.f{}"],
    [`namespace N { export function f() { ${call} } }`, "N.f{}"],
    [`namespace N.M { class A { f() { ${call} } } }`, "N.M.A.f{}"],
    [`export default () => { ${call} };`, "default{}"],
    [`export default function () { ${call} }`, "default{}"],
    [`export = () => { ${call} };`, "exports{}"],
    [`g(() => { ${call} });`, "g()"],
    [`g(1, function named() { ${call} });`, "g()"],
    [`g((() => { ${call} }) as any);`, "g()"],
    [`new G(() => { ${call} });`, "G()"],
    [`o.map(() => { ${call} });`, "map()"],
    [`g({ f: () => { ${call} } });`, "f{}"],
    [`(() => { ${call} })();`, "{}"],
    [`workflow("pay", async () => { ${call} });`, "pay()"],
    [`workflow(name, async () => { ${call} });`, "workflow()"],
    [`const o = { "a~1"() { ${call} } };`, "a%7E1{}"],
  ])("%s is %s", (source, anchor) => {
    expect(places(rowsOf(source), RowKind.fn)).toEqual([anchor]);
  });

  it("of one name are counted, whether they open a frame or not", () => {
    const rows = rowsOf(
      "const a = { run() {} }, b = { run() { h(); } }; [() => 1, () => h(), () => h()]; o.map(() => 1); o.map(() => h());",
    );
    expect(places(rows, RowKind.fn)).toEqual(["run~1{}", "~1{}", "~2{}", "map~1()"]);
  });

  it("given to one call are told apart by position", () => {
    expect(places(rowsOf("p.then(() => h(), 1, () => h()); p.then(1, () => h());"), RowKind.fn)).toEqual([
      "then()",
      "then(1)",
      "then~1()",
    ]);
  });

  it("given to a site are named after it", () => {
    const rows = rowsOf('async function f() { step(() => charge()); step("pay", () => h()); step(() => charge()); }');
    expect(places(rows, RowKind.fn)).toEqual(["f{}", "f{}>charge()", "f{}>pay()", "f{}>charge~1()"]);
  });

  it("of one name stay distinct where a field has calls of its own", () => {
    const rows = rowsOf("class A { a = g(() => h()); b = g(() => h()); } g(() => h());");
    const anchors = rows
      .filter(([kind, , container]) => kind === RowKind.fn && container === -1)
      .map(([, anchor]) => anchor);
    expect(new Set(anchors).size).toBe(anchors.length);
    expect(anchors).toContain("g()");
  });

  it("generators have a row of their own kind", () => {
    expect(places(rowsOf("function* g() { yield h(); }"), RowKind.generator)).toEqual(["g{}"]);
    expect(places(rowsOf('function* g() { "use strict"; yield h(); }'), RowKind.fn)).toEqual(["g{}"]);
  });

  it("overload signatures are not counted", () => {
    const rows = rowsOf("function f(x: string): void; function f(x: number): void; function f(x: any) { h(); }");
    expect(places(rows, RowKind.fn)).toEqual(["f{}"]);
  });
});

it("anchors are unique among places of one kind in their function", () => {
  const source = `async function f() { for (const g of gs) { step(g); g(); g(() => g(() => h())); new g(() => h()); } step("g()", g); }
    class A { g = g(() => h()); static g = g(() => h()); g() { h(); } static g() { h(); } "g~1"() { h(); } }
    const o = { g() { h(); }, "g~1"() { h(); }, "g{}"() { h(); } };`;
  const rows = rowsOf(source);
  const names = rows.map(
    ([kind, anchor, container]) => `${kind === RowKind.generator ? RowKind.fn : kind} ${container} ${anchor}`,
  );
  expect(new Set(names).size).toBe(names.length);
});

it("B76: a line above, another function and a step elsewhere change nothing but lines", () => {
  const strip = (rows: ReturnType<typeof rowsOf>) =>
    rows
      .filter(([, , container, , , text]) => text !== "" && container >= 0)
      .map(([kind, anchor, , , shared, text]) => [kind, anchor, shared, text]);
  const body = "export async function w() { const a = await step(poll); return a; }";
  expect(strip(rowsOf(`\n\n// more\nimport "x"; ${body}`))).toEqual(strip(rowsOf(body)));
  expect(rowsOf(`\n\n${body}`).map((row) => row[3])).toEqual(rowsOf(body).map((row) => row[3] + 2));
});

it("the line of a place is that of its name", () => {
  const rows = rowsOf("async function f() {\n  o\n    .m(\n 1);\n  await\n step(\n a);\n}");
  expect(rows.map(([, anchor, , line]) => [anchor, line])).toEqual([
    ["f{}", 2],
    ["m", 4],
    ["a", 7],
  ]);
});

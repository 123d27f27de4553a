/** Features of the language in real runs; each snippet is the body of a workflow, or a module that exports one as `w`. */
import ts from "typescript";
import type { BothOptions } from "./both.js";

export type Snippet = [source: string, options?: Omit<BothOptions, "target"> & { only?: ts.ScriptTarget[] }];

const header = `import { step, workflow } from "stepmark";\nimport { t } from "trace";\n`;

function inWorkflow(body: string): string {
  return `${header}export const w = workflow("w", async () => {\n${body}\n});`;
}

/** Code that is not strict. */
function inScript(before: string, body: string): string {
  return `const { step, workflow } = require("stepmark"); const { t } = require("trace");\n${before}\nexports.w = workflow("w", async () => {\n${body}\n});`;
}

const sloppy: Snippet[1] = { fileName: "/project/flow.js", compilerOptions: { allowJs: true, alwaysStrict: false } };
/** Node 20 has no `using` and no \`accessor\` of its own. */
const lowered = [ts.ScriptTarget.ES2017, ts.ScriptTarget.ES2022];

export const snippets: Record<string, Snippet> = {
  "global getter receiver": [
    inWorkflow(
      `let n = 0; Object.defineProperty(globalThis, "gg", { configurable: true, get() { n++; return { m: (x: any) => x }; } }); const r = (globalThis as any).gg.m(1); n = 0; const q = gg.m(2); const z = gg?.m(3); return [r, q, z, n];`,
    ),
  ],
  "direct eval in wrappers": [
    inWorkflow(
      `const loc = 5; return [eval("loc"), (eval)("loc"), (eval as any)("loc"), eval!("loc"), (() => { try { return (0, eval)("typeof loc"); } catch (e: any) { return e.name; } })(), eval?.("typeof loc")];`,
    ),
  ],
  "sloppy arguments alias": [
    inScript(
      `function f(a) { t.log(a); arguments[0] = 7; a.toFixed(); return [a, t.log(arguments.length)]; } function* g(a) { t.log(a); arguments[0] = 7; yield a; }`,
      `return [f(1, 2), [...g(1)]];`,
    ),
    sloppy,
  ],
  "sloppy this": [
    inScript(`function f() { t.log(1); return this === globalThis; }`, `return [f(), [f].map((g) => g())];`),
    sloppy,
  ],
  with: [
    inScript(`function f(o) { with (o) { return m(t.log(3)); } }`, `return f({ m(x) { return [this.v, x]; }, v: 4 });`),
    sloppy,
  ],
  "dup params": [
    inScript(
      `function f(a, a) { t.log(a); return a; } function* g(a, a) { t.log(a); yield a; }`,
      `return [f(1, 2), [...g(3, 4)]];`,
    ),
    sloppy,
  ],
  "block functions sloppy": [
    inScript(
      `function f(x) { if (x) { function inner() { return t.log("inner"); } } return typeof inner === "function" ? inner() : "none"; }`,
      `return [f(1), f(0)];`,
    ),
    sloppy,
  ],
  "var redeclares param in generator": [
    inScript(
      `function* g(a) { var a; t.log(a); yield a; } function* h(a) { var a = 2; t.log(a); yield a; function a2() {} } function* k(f) { t.log(typeof f); function f() {} yield typeof f; }`,
      `return [[...g(1)], [...h(1)], [...k(1)]];`,
    ),
    sloppy,
  ],
  "namespace exports": [
    inWorkflow(`const r = await N.f(2); return [r, N.x.v];`) +
      `\nnamespace N { export const x = { v: 1, m(y: any) { this.v += y; return t.log(this.v); } }; export let z: any = { q(a: any) { return [this === z, a]; } }; export async function f(y: any) { x.m(y); z.q(1); z = { q: (b: any) => b }; return [x?.m(await step(() => y)), z.q(3)]; } }`,
  ],
  "delete chains": [
    inWorkflow(
      `const o: any = { b() { return { c: 1, d: 2 }; } }; const e: any = null; return [delete o?.b(), delete o?.b().c, delete (o?.b().d), delete o.b?.(), delete e?.b(t.log("no")).c, typeof o?.b(), void o?.b()];`,
    ),
  ],
  "nonnull chains": [
    inWorkflow(
      `const a: any = { b() { return { c: this === a, d: () => 5 }; } }; const n: any = null; return [a?.b()!.c, a?.b()!.d(), (a?.b).call(a).c, (a?.b)!.call(a).c, (a?.b() as any).c, n?.b()!.c, a!?.b()!.d!()];`,
    ),
  ],
  "using in for": [
    inWorkflow(
      `const res = (n: string) => ({ n, [Symbol.dispose]() { t.log("dispose", n); } }); for (using x = res("a"); await step(t.id, t.go() && x.n === "a" && out.length < 2); ) { out.push(x.n); if (out.length === 2) continue; } for (using y of [res("b"), res("c")]) { if (await step(t.id, y.n === "c")) break; t.log(y.n); } return out;`,
    ).replace("async () => {", "async () => { const out: any[] = [];"),
    { only: lowered },
  ],
  "await using": [
    inWorkflow(
      `const res = (n: string) => ({ n, async [Symbol.asyncDispose]() { t.log("dispose", n, await step(t.id, 1)); } }); { await using x = res("a"); await using y = res("b"); t.log(x.n, y.n); } try { await using z = res("c"); throw t.log("x"); } catch (e) { t.log("caught", e); } for (const i of [1, 2]) { await using q = res("l" + i); if (i === 1) continue; t.log("in"); }`,
    ),
    { only: lowered },
  ],
  jsx: [
    header +
      `const h = (tag: any, props: any, ...kids: any[]) => ({ tag: typeof tag === "function" ? tag.name : tag, props, kids });\nfunction A(p: any) { return <b {...p}>{t.log("A")}</b>; }\nexport const w = workflow("w", async () => { const f = <T,>(x: T) => x; return <A a={f(1)} {...{ q: f(2) }}>text {await step(t.id, 3)} {[1, 2].map((x) => <i key={x}>{f(x)}</i>)}<A/></A>; });`,
    { fileName: "/project/flow.tsx", compilerOptions: { jsx: 2, jsxFactory: "h" } },
  ],
  "standard decorators": [
    inWorkflow(
      `const log: any[] = []; const dec = (n: string) => (v: any, c: any) => { log.push([n, c.kind, String(c.name)]); if (c.kind === "method") return function (this: any, ...xs: any[]) { return [n, v.apply(this, xs)]; }; if (c.kind === "field") return (x: any) => t.log("init", x); return undefined; }; @dec("c") class A { @dec("f") f = t.log("field", 1); @dec("m") m(x: any) { return t.log("m", x, this.f); } @dec("g") get g() { return t.log("g"); } @dec("a") accessor q = t.log("acc"); static @dec("s") s = t.log("st"); } const a = new A(); return [a.m(1), a.g, log];`,
    ),
    { compilerOptions: { experimentalDecorators: false }, only: lowered },
  ],
  "decorator metadata": [
    inWorkflow(
      `function P(): any { return () => {}; } class A { @P() *g(a: number, ...b: string[]) { yield t.log(a, b); } @P() async m(@P() x: string) { return step(t.id, x); } constructor(@P() public z?: number) { t.log("new"); } } const a = new A(3); return [[...a.g(1, "x")], await a.m("y"), a.g.length];`,
    ),
    { compilerOptions: { emitDecoratorMetadata: true } },
  ],
  "shadowed globals": [
    header +
      `const Reflect = 2, Symbol = 3, Array = 5;\nexport const w = workflow("w", async () => { const f = (globalThis: any) => t.log(globalThis); return [f(1), await step(t.id, 2), Reflect, Symbol, Array]; });`,
  ],
  "shadowed globalThis": [
    header +
      `const globalThis = 1; export const w = workflow("w", async () => [t.log(globalThis), await step(t.id, 2)]);`,
  ],
  "shadowed undefined": [inWorkflow(`return ((undefined: any) => t.log(undefined, [1].map((x) => t.log(x))))(5);`)],
  "user $ names": [
    inWorkflow(
      `const $s = 1, $1 = 2, $c1 = 3, $i1 = 4, $t1 = { m: () => 5 }, $k1 = 6, $x1 = 7, $r = 8, $2 = 9; const get = () => $t1; for (const q of [1]) { t.log(q, get().m()); } function* g($3: any, ...$rest: any[]) { yield t.log($3, $rest); } return [$s, $1, $c1, $i1, $k1, $x1, $r, $2, [...g(1, 2)]];`,
    ),
  ],
  "property $ names": [
    inWorkflow(`const o: any = { $s: 1, $1() { return t.log(2); } }; return [o.$s, o.$1(), o?.$1()];`),
  ],
  "deep sync recursion": [
    inWorkflow(`const walk = (n: number): number => n === 0 ? 0 : 1 + walk(n - 1); return walk(600);`),
  ],
  "comma callee": [
    inWorkflow(
      `const o: any = { m() { return this === o; }, v: 1 }; return [(0, o.m)(), (t.log(1), o.m)(), (o.m, t.log)(2), (o as any).m(), (<any>o).m(), (o.m!)(), o!.m()];`,
    ),
  ],
  "new variants": [
    inWorkflow(
      `const ns: any = { C: class { v: any; constructor(x?: any) { this.v = [x, new.target.name]; } }, get() { return this.C; } }; class D extends ns.C {} return [new ns.C(1), new ns.C, new (ns.get())(2), new ns["C"](...[3]), new D(4), Reflect.construct(ns.C, [5], D), new (class { v = t.log(6); })()].map((x: any) => x.v);`,
    ),
  ],
  "constructor return and new.target": [
    inWorkflow(
      `function F(this: any) { t.log(new.target === undefined); if (!new.target) return "called"; this.v = 1; } return [(F as any)(), new (F as any)().v];`,
    ),
  ],
  "getter name and length": [
    inWorkflow(
      `class A { static async *[Symbol.asyncIterator](a: any, ...b: any[]) { yield t.log(a); } get [t.log("k")]() { return t.log("v"); } ["m" + 1](a: any, b = t.log(1)) { return t.log(a, b); } #p(a: any) { return t.log(a); } q() { return [this.#p.name, this.#p.length, this.#p(1)]; } } const a: any = new A(); return [a.k, a.m1(1), a.m1.name, a.m1.length, A[Symbol.asyncIterator].name, A[Symbol.asyncIterator].length, a.q()];`,
    ),
  ],
  tdz: [
    inWorkflow(
      `const r: any[] = []; try { await step(() => later); } catch (e: any) { r.push(e.name); } let later = 1; try { t.log(l2); } catch (e: any) { r.push(e.name); } const l2 = 2; try { o.m(); } catch (e: any) { r.push(e.name); } const o = { m: () => 1 }; for (const i of [0]) { try { fz(i); } catch (e: any) { r.push(e.name); } const fz = (x: any) => x; } return r;`,
    ),
  ],
  "iterator protocol closes": [
    inWorkflow(
      `const it = (n: number) => ({ [Symbol.iterator]() { let i = 0; return { next: () => (t.log("next", i), { done: i >= n, value: i++ }), return: () => (t.log("return"), {}) }; } }); for (const { x = t.log("d") } of it(3) as any) { if (t.go()) break; } try { for (const [a = t.log(1)] of it(2) as any) {} } catch (e: any) { t.log(e.name); } outer: for (const i of [1, 2]) for (const { toFixed: f = t.log(2) } of it(3) as any) { t.log(typeof f); continue outer; } const [p, q = t.log("q")] = it(1) as any; return [p, q];`,
    ),
  ],
  "async iter closes": [
    inWorkflow(
      `const it = () => ({ [Symbol.asyncIterator]() { let i = 0; return { next: async () => ({ done: i > 3, value: { i: i++ } }), return: async () => (t.log("return"), {}) }; } }); for await (const { i = t.log("d"), j = await step(t.id, 7) } of it() as any) { t.log(i, j); if (i === 1) break; } try { for await (const { k = f() } of it() as any) t.log(k); } catch (e: any) { t.log(e.message); } function f(): any { throw new Error("bad"); }`,
    ),
  ],
  "do while continue with finally": [
    inWorkflow(
      `let n = 0; const test = async () => step(t.id, n < 4); do { n++; try { if (n === 1) continue; if (n === 3) break; t.log("body", n); } finally { t.log("fin", n); } } while (await test()); lbl: do { n++; for (;;) { try { if (n < 6) continue lbl; break lbl; } finally { t.log("f2", n); } } } while (await test()); return n;`,
    ),
  ],
  "while try finally override": [
    inWorkflow(
      `let n = 0; const f = async () => { while (await step(t.id, n < 5)) { n++; try { return n; } finally { if (n < 3) continue; if (n === 4) break; t.log("fin"); } } return "end"; }; return [await f(), n];`,
    ),
  ],
  "for update with continue in switch": [
    inWorkflow(
      `const u = (i: number) => (t.log("u", i), i + 1); for (let i = 0; t.log("t", i) < 5; i = u(i)) { switch (i) { case 1: continue; case 2: break; case 3: { t.log("three"); continue; } default: t.log("d", i); } t.log("after", i); }`,
    ),
  ],
  "closures in for let with moved head": [
    inWorkflow(
      `const fs: any[] = []; const u = (g: any) => (fs.push(g), 1); for (let i = 0, s = u(() => "init" + i); u(() => "t" + i), i < 3; u(() => "u" + i), i++) { fs.push(() => "b" + i++); if (i === 1) { fs.at(-1)(); continue; } } return fs.map((f) => f()).concat(fs.map((f) => f()));`,
    ),
  ],
  "for let shadow": [
    inWorkflow(
      `const f = (x: any) => x; for (let i = 0; f(i) < 2; i += f(1)) { let i = 10; const f = 3; t.log(i, f); } for (let x = f(0); f(x) < 1; x++) { var x2 = x; { function f2() { return x2; } t.log(f2()); } }`,
    ),
  ],
  "label same name as loop var": [
    inWorkflow(`step: for (const step of [1, 2]) { if (t.log(step) === 1) continue step; t.log("end"); }`),
  ],
  "await as names": [
    inWorkflow(
      `const async = (x: any) => x; const of = [1]; const get = 2, set = 3; for (const of of [t.log(1)]) t.log(of); return [async(1), async?.(2), get, set];`,
    ),
  ],
  "generator return value & spread": [
    inWorkflow(
      `function* g(...[a, b = t.log("b"), ...c]: any[]): any { try { const x = yield [a, b, c]; return t.log("x", x); } finally { yield t.log("fin"); } } const i = g(1, undefined, 3, 4); const r = [i.next(), i.return("r" as any), i.next(), i.next()]; const j = g(); j.next(); try { j.throw(new Error("th")); } catch (e: any) { r.push(e.message); } try { j.next(); } catch (e: any) { r.push(e.message); } return r;`,
    ),
  ],
  "generator this": [
    inWorkflow(
      `const o = { v: 3, *g(this: any, a: any) { yield [this.v, t.log(a)]; }, async *ag(...xs: any[]) { yield [this.v, await step(t.id, xs.length)]; } }; const out: any[] = [...o.g(1)]; for await (const x of o.ag(1, 2)) out.push(x); return [out, o.g.call({ v: 9 }, 2).next(), Object.getPrototypeOf(o.g(1)) === o.g.prototype];`,
    ),
  ],
  "async generator concurrency": [
    inWorkflow(
      `async function* g(x: any) { for (let i = 0; i < 2; i++) yield await step(t.id, x * 10 + i); } const i = g(1), j = g(2); const r = await Promise.all([i.next(), j.next(), i.next(), j.next(), i.next(), j.next()]); return r;`,
    ),
  ],
  "tagged template with steps": [
    inWorkflow(
      `const tag = async (s: any, ...xs: any[]) => [s.raw[0], await step(t.id, xs[0])]; const out: any[] = []; for (const i of [1, 2]) out.push(await tag\`a\\n\${i}\`); const o: any = { tag(s: any) { return this === o && s[0]; } }; return [out, o.tag\`x\`, typeof o?.tag, (await Promise.all([tag\`p\${1}\`, tag\`q\${2}\`]))];`,
    ),
  ],
  "getter with step": [
    inWorkflow(
      `class A { get p() { return (async () => step(t.id, 1))(); } static get [Symbol.species]() { return Array; } } const a = new A(); return [await a.p, await a.p, await Promise.all([a.p, a.p])];`,
    ),
  ],
  "toString and valueOf calls": [
    inWorkflow(
      `const f = (x: any) => t.log(x); const o = { toString() { return f("s"); }, valueOf() { return f(3); }, [Symbol.toPrimitive](h: any) { return f(h); } }; return [\`\${o}\`, +(o as any) + 1, o + ""];`,
    ),
  ],
  "async arrow in field": [
    inWorkflow(
      `class A { v = 1; run = async (x: any) => { for (const i of [1, 2]) await step(t.id, i); return [this.v, x, await step(t.id, x)]; }; static s = async () => step(t.id, "s"); [t.log("comp")] = t.log("val"); static { this.s = this.s; t.log(this.name); } } const a = new A(); return [await a.run(1), await A.s(), await Promise.all([a.run(2), new A().run(3)])];`,
    ),
  ],
  "derived constructor": [
    inWorkflow(
      `const f = (x: any) => (t.log(x), x); class A { constructor(public x: any) { f("A"); } m() { return f("Am"); } } class B extends A { y = f("By"); constructor(a: any, b = f("default")) { const z = () => this; try { super.m(); } catch (e: any) { f(e.name); } if (f(a)) super(f(b)); else super(f("else")); f(z() === this); } m() { return [super.m(), super.m?.()]; } } return [new B(1).m(), { ...new B(0) }];`,
    ),
    { only: [ts.ScriptTarget.ES2022, ts.ScriptTarget.ESNext] },
  ],
  "exponent, in, instanceof, nullish": [
    inWorkflow(
      `const f = (x: any) => (t.log(x), x); const o: any = {}; o[f("a")] ??= f(1); o[f("a")] ||= f(2); o[f("b")] &&= f(3); o.x ??= await step(t.id, 4); return [(await step(t.id, 2)) ** f(3), f("a") in f(o), f(o) instanceof f(Object), o, typeof f(undefined), !f(0), -f(2), f(null)?.x ?? f(9)];`,
    ),
  ],
  "nested template": [
    inWorkflow(
      `const f = (x: any) => t.log(x); return \`a\${f(\`b\${f(1)}c\${await step(t.id, \`d\${f(2)}\`)}\`)}e\`;`,
    ),
  ],
  "sequence in update": [
    inWorkflow(
      `let n = 0; const f = () => t.log("f", n); for (let i = 0, j = 10; i < j && f() < 3; i++, j--, f(), n++) { t.log(i, j); }`,
    ),
  ],
  "empty body loops": [
    inWorkflow(
      `let n = 0; const f = () => t.log(n++) < 3; while (f()); n = 0; for (; f(); ); do ; while (f()); for (const x of [1, 2]); for (const { a = f() } of [{}] as any[]); if (n) while (f()); else do ; while (f());`,
    ),
  ],
  "dangling else": [
    inWorkflow(
      `const f = (x: any) => (t.log(x), x); for (const a of [0, 1]) for (const b of [0, 1]) if (f(a)) if (f(b)) t.log("ab"); else t.log("a"); if (f(0)) for (const x of [1]) if (f(x)) t.log("in"); else t.log("else");`,
    ),
  ],
  "class in loop with closures": [
    inWorkflow(
      `const out: any[] = []; for (let i = 0; i < 2; i++) { class A { static n = t.log("n", i); v = i; m() { return t.log(this.v, i); } } out.push(new A()); i += 0; } return out.map((a) => a.m());`,
    ),
  ],
  "promise subclass & thenables": [
    inWorkflow(
      `class P extends Promise<any> {} const thenable = { then(r: any) { t.log("then"); r(7); } }; return [await P.resolve(1).then((x) => t.log(x)), P.resolve(1).then(() => 1) instanceof P, await thenable, await (async () => thenable)()];`,
    ),
  ],
  "error stack & message": [
    inWorkflow(
      `const f = () => { throw new RangeError("boom"); }; try { f(); } catch (e: any) { return [e.name, e.message, e.stack.split("\\n")[1].includes("f ")]; }`,
    ),
  ],
  "function toString of unmarked": [
    inWorkflow(`const f = (x: any) => x; return [f.toString(), (class { a = 1 }).toString().length > 0];`),
  ],
  "function properties": [
    inWorkflow(
      `function f(x: any) { return t.log(x); } f.p = (y: any) => t.log(y, f.name); Object.assign(f, { q: 1 }); return [f(1), f.p(2), (f as any).q, f.hasOwnProperty("p")];`,
    ),
  ],
  "array holes and spread": [
    inWorkflow(
      `const f = (...xs: any[]) => xs.length; return [f(...[1, , 3] as any), f(...new Set([1, 2]), ...[3]), f(...(await step(t.id, [1, 2]))), Math.max(...[1, 2].map((x) => x))];`,
    ),
  ],
  "call with symbols": [
    inWorkflow(
      `const s = Symbol("x"); const o: any = { [s](x: any) { return [this === o, x]; }, 1: (x: any) => x }; return [o[s](1), o?.[s](2), o[1](3), o[s]?.(4), o["1"](5)];`,
    ),
  ],
  "exported let receiver": [
    header +
      `export let o: any = { id: 1, m(x: any) { return [this.id, x]; } }; export const w = workflow("w", async () => { const a = o.m((o = { id: 2, m: (y: any) => y }).id); return [a, o.m(3)]; });`,
  ],
  "export default class/anonymous": [
    header +
      `export default class { static async run(x: any) { return step(t.id, x); } }\nexport const w = workflow("w", async () => { class X { static z = [1].map((y) => t.log(y)); } return X.z; });`,
  ],
  "async methods with await in computed": [
    inWorkflow(
      `const o = { async [await step(t.id, "k")](x: any) { return t.log(x); }, [t.log("g")]: 1 }; class A { [await step(t.id, "m")]() { return t.log("m"); } static [t.log("sk")] = await_(); } function await_() { return t.log("aw"); } return [await (o as any).k(1), (new A() as any).m()];`,
    ),
  ],
  "promise combinators order": [
    inWorkflow(
      `const f = async (x: any, n: number) => { for (let i = 0; i < n; i++) await null; t.log("f", x); return step(t.id, x); }; return [await Promise.all([f(1, 3), f(2, 1), f(3, 2)]), await Promise.race([f(4, 2), f(5, 0)]), await Promise.any([f(6, 1), Promise.reject(1)]), await Promise.allSettled([f(7, 1), Promise.reject(2)])];`,
    ),
  ],
  "microtask interleaving": [
    inWorkflow(
      `const f = async (x: any) => { t.log(x, 1); await null; t.log(x, 2); await g(x); t.log(x, 5); return x; }; const g = async (x: any) => { t.log(x, 3); await 0; t.log(x, 4); }; const a = f("a"), b = f("b"); queueMicrotask(() => t.log("m")); await Promise.resolve().then(() => t.log("p")); return [await a, await b];`,
    ),
  ],
};

/** Calls in every position that an expression can have. */
export const positions: Record<string, string> = {
  statement: `step(() => t.log("a"));`,
  initializer: `const a = await step((x: number) => x + 1, 1); return a;`,
  "nested arguments": `return step((a: any, b: any) => t.log(a, b), await step(() => t.log(1)), await step(() => t.log(2)));`,
  "same anchor nested": `const f = (x: any) => t.log("f", x); return step(f, await step(f, await step(f, 1)));`,
  "not awaited at once": `const p = step(() => t.log(1)); t.log(2); return await p;`,
  "in Promise.all": `return Promise.all([step(() => t.log(1)), step(() => t.log(2)), 3]);`,
  "returned and voided": `void step(() => t.log(1)); return step(() => 2);`,
  "then and finally": `return step(() => 1).then((x: any) => t.log("then", x)).finally(() => t.log("end"));`,
  "property of the result": `return (await step(() => ({ x: 1 }))).x;`,
  "call of the result": `return (await step(() => () => 7))();`,
  "immediate result called": `const g = () => (x: any) => t.log(x); return g()(2);`,
  "operand wrappers": `const a = await (step(() => 1)); const b = await step(() => 2)!; const c = await (step(() => 3) as Promise<number>);
    const d = await (step(() => 4) satisfies unknown); const e = await <any>step(() => 5); const f = await step<number>(() => 6);
    return [a, b, c, d, e, f];`,
  "callee wrappers": `const a = await (step as any)(() => 1); const b = await step!(() => 2); const c = await (0, step)(() => 3);
    const d = await (<any>step)(() => 4); const e = await (t.log("first"), step)(() => 5); const f = await step?.(() => 6);
    return [a, b, c, d, e, f];`,
  "spread first": `const xs: any = [(a: any, b: any) => t.log(a, b), 1, 2]; return step(...(xs as [any]));`,
  "spread later": `return step((...xs: any[]) => t.log(...xs), ...[1, 2], 3, ...[4]);`,
  "spread of an iterator": `function* g() { t.log("pull 1"); yield 1; t.log("pull 2"); yield 2; } return t.log(...g(), t.log("after"));`,
  "trailing comma": `return step(() => 1,);`,
  "no arguments": `const f = function () { return arguments.length; }; return [f(), await uuid()];`,
  switch: `for (const v of [1, 2, 3]) switch (await step(() => v)) {
      case await step(() => t.log("case 1", 1)): t.log("one");
      case t.log(2): { t.log("two"); break; }
      default: t.log("other", await step(() => 9));
    }`,
  "logical operators": `const f = (x: any) => (t.log("f", x), x); let a: any = null, b: any = 1, c: any = 0;
    a ??= f(5); b &&= f(6); c ||= f(7); f(0) && f(1); f(1) || f(2); f(null) ?? f(3); return [a, b, c, f(1) ? f(2) : f(3)];`,
  "await in operators": `return [(await step(() => 2)) ** 2, "x" in (await step(() => ({ x: 1 }))), (await step(() => [])) instanceof Array, typeof (await step(() => 1)), !(await step(() => 1))];`,
  "delete and void": `const o: any = { a: { b: 1 } }; const f = () => (t.log("f"), o.a); delete f().b; void f(); return o;`,
  "delete through a chain": `const o: any = { a: { b: 1 } }; const f: any = () => o; return [delete f?.().a, delete o?.x?.y, o, await step(() => 1)];`,
  throw: `try { throw await step(() => new Error("x")); } catch (e: any) { return e.message; }`,
  template: `return \`a\${await step(() => 1)}b\${t.log(2)}c\`;`,
  "tagged template": `const tag = (s: any, ...v: any[]) => s.raw.join('|') + v.join(','); const o = { tag, n: 5 }; return [tag\`a\${t.log(1)}b\\n\`, o.tag\`\${await step(() => 2)}\`, (() => tag)()\`z\${t.log(3)}\`];`,
  "computed keys": `const k = (x: string) => (t.log("k", x), x); const o = { [k("a")]: k("1"), [await step(() => "b")]: 2 };
    class C { [k("m")]() { return 3; } static [k("s")] = k("4"); } const { [k("a")]: z } = o as any; return [o, new C().m(), (C as any).s, z];`,
  "destructuring defaults": `const f = (x: any) => (t.log("d", x), x); const { a = f(1), b: { c = f(2) } = {} } = { b: undefined } as any; let d: any, e: any;
    [d = await step(() => 3), e = f(4)] = [] as any; ({ d = f(5) } = {} as any); return [a, c, d, e];`,
  "catch pattern": `try { throw {}; } catch ({ m = await step(() => t.log("m")) }: any) { return m; }`,
  finally: `const out: any[] = []; for (const bad of [true, false]) try { try { if (bad) throw new Error("x"); out.push(await step(() => 1)); } finally { out.push(await step(() => 2)); } } catch { out.push(await step(() => 3)); } return out;`,
  "catch without binding": `try { await step(() => { throw new Error("x"); }); } catch { return t.log("caught"); }`,
  "rejected step": `try { await step(() => Promise.reject(new RangeError("r"))); } catch (e) { return t.log(e); }`,
  "assignment targets": `const o: any = { p: {} }; const f = (n: string) => (t.log(n), o); f("t").p.x = f("v") && 1; f("u").p.x += await step(() => 2); f("w").p.x++; [f("y").z, f("q").p.r] = [1, 2]; return o;`,
  "object literal parts": `const o = { a: await step(() => 1), get g() { return t.log("get"); }, ...(await step(() => ({ s: 2 }))), m() { return t.log("m"); } }; return [o.g, o.m(), o];`,
  comma: `return (t.log(1), await step(() => 2), t.log(3));`,
  "exclamation chains": `const o: any = { f: () => ({ g: () => 5 }) }; return o.f!()!.g!();`,
  "comments everywhere": `return step/* ( */(/* a */ (x: any, y: any) => [x, y] /* b */, /* c */ 1 // d
      , t.log(/* e */ 2 /* f */));`,
  "type arguments with arrows": `return step<Array<(a: string) => void>>(() => [] as any);`,
  "callee evaluated first": `const o = { get f() { t.log("get f"); return (...xs: any[]) => t.log("call", ...xs); } }; return o.f(t.log("arg 1"), t.log("arg 2"));`,
  "callee is not a function": `const o: any = { f: 1 }; try { o.f(t.log("arg")); } catch (e) { return e instanceof TypeError; }`,
  "callee is undefined": `let f: any; try { f(t.log("arg")); } catch (e) { return e instanceof TypeError; }`,
  "temporal dead zone": `try { f(t.log("not reached")); } catch (e) { t.log(e instanceof ReferenceError); } const f = (x: any) => x;`,
  "undeclared callee": `try { (globalThis as any).nothing; nothing(t.log("not reached")); } catch (e) { return e instanceof ReferenceError; } declare const nothing: any;`,
  "dead code": `if (false as boolean) await step(() => t.log("never")); return 1; step(() => 2);`,
  using: `const log: any[] = []; { using a = { [Symbol.dispose]() { log.push("a gone"); } }; using b = await step(() => ({ [Symbol.dispose]() { log.push("b gone"); } })); log.push("in"); }
    for (const x of [1, 2]) { using c = make(x); log.push(x); } function make(x: number) { return { [Symbol.dispose]() { log.push("c" + x); } }; } return log;`,
  "await using": `const log: any[] = []; { await using a = await step(() => ({ async [Symbol.asyncDispose]() { log.push("gone"); } })); log.push("in"); } return log;`,
  "no semicolons": `const a = t.log(1)
    const f = () => t.log("f")
    ;[1].forEach(() => f())
    let b = f
    ;(await step(() => t.log(2)))
    return b()`,
  "labels that look like ours": `step: for (const x of [1, 2]) { $1: for (;;) { t.log(x); if (x > 1) break step; break $1; } }`,
  "eval stays direct": `const secret = await step(() => 5); return eval("secret + 1");`,
  "indirect eval": `return (0, eval)("typeof t");`,
  "new.target": `function F(this: any, x: any) { return { target: new.target === F, x: t.log(x) }; } const o: any = new (F as any)(await step(() => 1)); return o;`,
  "new with members": `const ns = { a: { B: class { x; constructor(x: any) { this.x = x; } } } }; const get = () => (t.log("get"), ns); return [new ns.a.B(t.log(1)).x, new (get().a.B)(2).x, new ns.a.B, new (class { y = t.log("y"); })];`,
  "new order": `const C = () => (t.log("C"), class { constructor(public a: any) {} }); return new (C())(t.log("arg")).a;`,
  "not constructible": `const C: any = () => 1; try { new C(t.log("arg")); } catch (e) { return e instanceof TypeError; }`,
  "super calls": `class A { x; constructor(x: any) { this.x = x; } m(y: any) { return [this.x, y]; } get g() { return (z: any) => [this.x, z]; } static s(v: any) { return [this.name, v]; } }
    class B extends A { constructor() { t.log("before"); super(t.log(1)); t.log(this.x); } m(y: any) { return super.m(t.log(y)); } k() { return super["m"](t.log("k")); } h() { return super.g(3); } arrow = () => super.m("arrow"); static s(v: any) { return super.s(t.log(v)); } }
    const b = new B(); return [b.m(2), b.k(), b.h(), b.arrow(), B.s(4)];`,
  "async super": `class A { async m(y: any) { return [y]; } } class B extends A { async m(y: any) { const r = await super.m(await step(() => y)); return r.concat(await super.m(2)); } } return new B().m(1);`,
  "this in steps": `class A { v = 3; async m() { return step(() => this.v); } n = async () => step(() => this.v + 1); } const a = new A(); return [await a.m(), await a.n()];`,
  arguments: `function f(this: any, ..._: any[]) { return g(arguments.length, ...Array.from(arguments)); } function g(...xs: any[]) { return xs; } return f(1, 2);`,
  "arguments of arrows": `async function f(..._: any[]) { const h = async () => step((n: any) => n, arguments.length); return h(); } return f(1, 2, 3);`,
  "object destructured from call": `const f = () => ({ a: 1, b: [2, 3] }); const { a, b: [, c] } = f(); return [a, c];`,
  "conditional call": `const yes = () => t.log("yes"), no = () => t.log("no"); return [(1 ? yes : no)(), (0 || no)()];`,
  "sequence callee keeps no this": `const o: any = { f() { "use strict"; return this === undefined; } }; return [(0, o.f)(), (o.f)(), o.f(), (o["f"])(), (o.f as any)(), o.f!()];`,
  "json and promise": `return [JSON.stringify({ a: 1 }), await Promise.resolve(t.log(2)), Object.keys({ q: 1 }), Math.max(1, 2), Array.isArray([]), Number("3"), new Map([[1, 2]]).get(1)];`,
  "shadowed builtins": `const JSON = { stringify: (x: any) => t.log("mine", x) }; class Map { get(x: any) { return t.log("my map", x); } } return [JSON.stringify(1), new Map().get(2)];`,
  "callbacks in builtins": `const order: any[] = []; [3, 1, 2].sort((a, b) => (order.push([a, b].length), a - b)); return [order.length > 0, Array.from([1, 2], (x) => t.log(x)), "a-b".replace(/-/, () => t.log("+"))];`,
  setTimeout: `return await new Promise((resolve) => setTimeout(() => resolve(t.log("later")), 1));`,
  "import call": `const { sep } = await import("node:path"); return [typeof sep, t.log(1)];`,
  "async iteration helper": `async function* g() { for (const x of [1, 2]) yield await step(() => x); } const out: any[] = []; for await (const x of g()) out.push(t.log(x)); return out;`,
  "exponent and unary": `const f = () => 2; return [-f(), +f(), ~f(), f() ** f(), (-f()) ** 2, !f()];`,
  "in and instanceof": `const f = () => ({ a: 1 }); class A {} const mk = () => new A(); return ["a" in f(), mk() instanceof A];`,
  "regular expressions": `return "a1b2".match(/\\d/g)!.map((x) => t.log(x)).join("/");`,
  "big ints": `const f = (x: bigint) => x * 2n; return String(f(4n));`,
  "instantiated callees": `const o: any = { v: 1, m(x: any) { return [this?.v, x]; } }; return [(o.m<string>)(1), (o?.m<string>)(2), await (step<any>)(() => 3), new (Map<string, any>)([["a", 1]]).get("a")];`,
  "anonymous receivers": `const anonymous = (class { static m() { return t.log(this.name); } }).m(); return [anonymous, (function () {}).bind(null).name];`,
  "numeric receiver": `return [(5).toFixed(1), 5..toString(), "x".repeat(2), [1, 2].join()];`,
};

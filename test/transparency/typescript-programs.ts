/**
 * Random programs in which TypeScript's own syntax surrounds the code: what is erased, what becomes other code, and what is
 * not JavaScript yet.
 */
import { seeded } from "../support/schedule.js";
import type { BothOptions } from "./both.js";
import { type Context, contexts, Writer } from "./programs.js";

export interface TypeScriptProgram {
  readonly source: string;
  readonly options: BothOptions;
}

export function randomTypeScript(seed: number): TypeScriptProgram {
  const next = seeded(seed);
  const jsx = next() < 0.4;
  const legacy = next() < 0.5;
  const options: BothOptions = {
    fileName: jsx ? "/project/flow.tsx" : "/project/flow.ts",
    compilerOptions: {
      experimentalDecorators: legacy,
      emitDecoratorMetadata: legacy && next() < 0.5,
      useDefineForClassFields: next() < 0.7,
      ...(jsx && { jsx: 2, jsxFactory: "h", jsxFragmentFactory: "h.f" }),
    },
  };
  return { source: new TypeScriptWriter(next, jsx, legacy).module(), options };
}

class TypeScriptWriter extends Writer {
  constructor(
    next: () => number,
    private readonly jsx: boolean,
    private readonly legacy: boolean,
  ) {
    super(next);
  }

  override module(): string {
    const { top, helper, sync } = contexts;
    const method = { ...sync, method: true };
    const asyncMethod = { ...helper, method: true };
    const assigned = this.chance(0.3);
    const parts = [
      `enum E { A, B = t.log("enum", 3), C = B * 2, "D-d" = 9 }
const enum K { X = 1 << 2, Y = X | 1 }`,
      `namespace N { export const v: any = t.log("ns", 1); export async function nf(x: any): Promise<any> ${this.body(helper)}
export namespace M { export function mf(x: any): any ${this.body(sync)} } }
namespace N { export let w: any = v + 1; t.log("again", w); export abstract class Base<T = any> { abstract am(x: T): Promise<T>; static of = (x: any) => M.mf(x); } }
import Q = N.M;`,
      `abstract class A extends N.Base<any> implements I { declare z: number; [key: string]: any; static readonly k: any = f(1);
protected readonly p?: any; abstract m(x: any): any; async am(this: this, x: any): Promise<any> { return await this.m(x); } get g(): any { return this.m(2); } set g(x: any) { t.log("set", x); } }
class B extends A { override m(x: any): any ${this.body(method)} }`,
      `class P<T> { constructor(private readonly a: T, public b: any = f(a), protected c?: any) { t.log("P", this.a === a, this.b, this.c); }
sum(): any { return t.log("sum", this.b); } async later(x: any): Promise<any> ${this.body(asyncMethod)} }
class R extends P<any> { w: any = t.log("w", this.b); static s: any = f(2); constructor(public d: any) { super(f(d), d); t.log("R", this.d, this.w); } }`,
      `function ov(x: string): any; function ov(x: number, y?: any): any; function ov(x: any): any ${this.body(sync)}
function isNice(x: any): x is number { return typeof f(x) === "number"; }
function check(x: any): asserts x { if (!x) throw t.log("check", x); }`,
      this.decorated(asyncMethod),
      `class Acc { accessor v: any = f(1); static accessor s: any = t.log("s", 2); accessor #q: any = 1; q(): any { return this.#q = f(this.#q); } m(x: any): any ${this.body(method)} }`,
    ];
    const shuffled = parts.map((part) => [this.next(), part] as const).sort(([a], [b]) => a - b);
    return `import { step, workflow, type Workflow } from "stepmark";
import tr = require("trace");
import type { X } from "nowhere";
const t = tr.t as any;
interface I { m(x: any): any }
type T1 = { [K in keyof I]?: ReturnType<I[K]> };
declare const nothing: T1;
declare function nowhere(x: X): void;
const id = <T,>(x: T): T => x;
const disposable = (n: any): any => ({ n, [Symbol.dispose]() { t.log("dispose", n); }, async [Symbol.asyncDispose]() { t.log("async dispose", await n); } });
${this.jsx ? `const h: any = (tag: any, props: any, ...kids: any[]) => t.log("h", tag?.name ?? tag, Object.keys(props ?? {}).join(), kids.length); h.f = "fragment"; const Tag = (x: any) => x;` : ""}
const o = { v: 1, n: null as any, m(x: any) { return t.log("m", this === o, x); }, get g() { t.log("g"); return this; }, async am(x: any) { return step(t.id, t.plain(x)); } } satisfies object as any;
function f(x: any): any ${this.body(sync)}
async function h0(x: any, y: any = f(x)): Promise<any> ${this.body(helper)}
const h${this.jsx ? "1" : ""} = h0 as any;
function* g(x: any, ...rest: any[]): any ${this.body({ ...sync, variables: ["x", "rest"], generator: true })}
async function* ag(x: any): any ${this.body({ ...helper, generator: true })}
class C { v: any; static { t.log("static"); } constructor(x: any) { this.v = t.log("C", x); } m(x: any): any ${this.body(method)} async am(x: any): Promise<any> ${this.body(asyncMethod)} }
class D extends C { p: any = () => this.v; constructor(x: any) { super(f(x)); t.log("D"); } m(x: any): any { return super.m(x) ?? t.log("super"); } }
let level = 0;
const fs: any[] = [];
${shuffled.map(([, part]) => part).join("\n")}
${assigned ? "const" : "export const"} w: Workflow<any, any> = workflow("w", async () => {
  let a: any = 0, later!: any;
  const inner = async (): Promise<any> => ${this.body(top)};
  let result: any;
  try { result = await inner(); } catch (e: unknown) { result = t.log("caught", e); }
  while (fs.length > 0 && t.go()) t.log("late", await fs.shift()!());
  return [t.plain(result), t.plain(a), E[E.A], K.Y, later];
});
${assigned ? "export = { w };" : ""}
`;
  }

  /** Decorators that only look on; parameters can have them in the older kind alone. */
  private decorated(context: Context): string {
    const on = this.legacy ? "@dec(f(7)) " : "";
    return `const dec = (name: any): any => (...args: any[]) => { t.log("dec", name, args.length); };
@dec(f(0)) @(dec("class")) class Dec { @dec(${this.trace("1")}) v: any = f(1); @dec(f(2)) static s: any = 2; @dec("m") m(${on}x: any): any { return t.log("Dec", x); }
@dec(f(3)) async am(x: any, ${on}y: any = f(x)): Promise<any> ${this.body(context)} @dec("g") get g(): any { return f(4); } ${this.legacy ? "" : `@dec("a") accessor c: any = f(5);`} }`;
  }

  protected override statement(context: Context): [string, Context] {
    if (!this.chance(0.2)) return super.statement(context);
    const name = this.fresh("u");
    const inside = { ...context, variables: [...context.variables, name], depth: context.depth + 1 };
    const e = (): string => this.expression({ ...context, depth: context.depth + 2 });
    const choices = [
      () => `{ using ${name} = disposable(${e()}); ${this.statements(inside)} }`,
      () => `for (using ${name} of [disposable(${e()}), disposable(2)]) ${this.block({ ...inside, inLoop: true })}`,
      () => `type ${name} = typeof nothing;`,
      () =>
        `const ${name}: any = <T,>(x: T): T => (${this.expression({ ...this.nested(context, false), variables: ["x"] })}) as T; ${this.trace(`${name}(1)`)};`,
      () => `enum ${name} { p, q = t.log(${e()}, 4) } ${this.trace(`${name}.q`)};`,
      () => `check(${e()} || 1);`,
      ...(context.async ? [() => `{ await using ${name} = disposable(${e()}); ${this.statements(inside)} }`] : []),
    ];
    return [this.pick(choices)(), context];
  }

  protected override expression(context: Context): string {
    if (context.depth > 7 || this.chance(0.7)) return super.expression(context).replace(/\bawait h\(/g, "await h0(");
    const e = (): string => this.expression({ ...context, depth: context.depth + 2 });
    const choices: (() => string)[] = [
      () => `(${e()} as any)`,
      () => `(${e()} satisfies unknown)`,
      () => `(${e()})!`,
      () => `id<(a: any) => any>(${e()})`,
      () => `(id<any>)(${e()})`,
      () => `o.m<any>(${e()})!`,
      () => `(o as any)!.m(${e()} as unknown as any)`,
      () => `o.g!.m!(${e()})`,
      () => `Q.mf(${e()})`,
      () => `N.M!.mf(${e()})`,
      () => `N.Base.of(${e()})`,
      () => `new B()?.m(${e()})`,
      () => `new B().g`,
      () => `new P<any>(${e()}).sum()`,
      () => `(new R(${e()}) as P<any>)["sum"]()`,
      () => `ov(${e()})`,
      () => `isNice(${e()})`,
      () => `new Acc().m(${e()})`,
      () => `(new Acc().q(), Acc.s = ${e()})`,
      () => `new Dec().m(${e()})`,
      () => `(E.C + K.X)`,
      ...(this.jsx
        ? [
            () => `<a b={${e()}} {...{ c: ${e()} }}>text {${e()}}<Tag x="y" /></a>`,
            () => `<>{${e()}}{/* none */}{...[${e()}]}</>`,
            () =>
              `<Tag<any> f={() => ${this.expression(this.nested({ ...context, depth: context.depth + 3 }, false))}} />`,
          ]
        : [() => `(<any>${e().replace(/^/, "(")}))`]),
    ];
    if (context.async) {
      choices.push(
        () => `(await N.nf(${e()}))`,
        () => `(await new B().am(${e()}))`,
        () => `(await new Dec().am(${e()}))`,
        () => `(await (new P(${e()}).later(${e()}) as Promise<any>))!`,
        () => `(await step<any[], any>(t.id, t.plain(${e()})))`,
        () => `(await step(() => t.plain(${this.leaf(context)}) as any)!)`,
        () => `(await (step as any)(t.id, t.plain(${e()})))`,
      );
    }
    return this.pick(choices)();
  }
}

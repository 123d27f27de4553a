/** Random small programs: nested control flow, closures, classes and generators with traces and steps in every position. */
import { seeded } from "../support/schedule.js";

/** What surrounds the code that is being written. */
export interface Context {
  async: boolean;
  generator: boolean;
  /** Whether `this.v` and `arguments` mean something. */
  method: boolean;
  variables: readonly string[];
  /** Variables that may be assigned. */
  assignable: readonly string[];
  /** Labels of loops around, and of other statements. */
  loops: readonly string[];
  blocks: readonly string[];
  inLoop: boolean;
  inSwitch: boolean;
  depth: number;
}

export function randomProgram(seed: number): string {
  return new Writer(seeded(seed)).module();
}

const top: Context = {
  async: true,
  generator: false,
  method: false,
  variables: ["a"],
  assignable: ["a"],
  loops: [],
  blocks: [],
  inLoop: false,
  inSwitch: false,
  depth: 0,
};
const helper = { ...top, variables: ["x"], assignable: ["x"], depth: 2 };

/** Surroundings of the workflow's body, and of the bodies of functions of one parameter `x`. */
export const contexts = { top, helper, sync: { ...helper, async: false } };

export class Writer {
  private names = 0;
  private traces = 0;

  constructor(protected readonly next: () => number) {}

  module(): string {
    const { top, helper, sync } = contexts;
    return `import { step, workflow } from "stepmark";
import { t } from "trace";
const o = { v: 1, n: null as any, m(x: any) { return t.log("m", this === o, x); }, get g() { t.log("g"); return this; }, async am(x: any) { return step(t.id, t.plain(x)); } } as any;
function f(x: any): any ${this.body(sync)}
async function h(x: any, y: any = f(x)): Promise<any> ${this.body(helper)}
function* g(x: any, ...rest: any[]): any ${this.body({ ...sync, variables: ["x", "rest"], generator: true })}
async function* ag(x: any): any ${this.body({ ...helper, generator: true })}
class C { v: any; w: any = f(1); static s: any; static { this.s = t.log("static"); } constructor(x: any) { this.v = t.log("C", x); } m(x: any): any ${this.body({ ...sync, method: true })} async am(x: any): Promise<any> ${this.body({ ...helper, method: true })} }
class D extends C { p: any = () => this.v; constructor(x: any) { super(f(x)); t.log("D"); } m(x: any): any { return super.m(x) ?? t.log("super"); } }
let level = 0;
const fs: any[] = [];
export const w = workflow("w", async () => {
  let a: any = 0;
  const inner = async () => ${this.body(top)};
  let result: any;
  try { result = await inner(); } catch (e: any) { result = t.log("caught", e); }
  while (fs.length > 0 && t.go()) t.log("late", await fs.shift()());
  return [t.plain(result), t.plain(a)];
});
`;
  }

  // --- choices ------------------------------------------------------------------------------------------------------

  protected int(below: number): number {
    return Math.floor(this.next() * below);
  }

  protected chance(probability: number): boolean {
    return this.next() < probability;
  }

  protected pick<T>(items: readonly T[]): T {
    return items[this.int(items.length)]!;
  }

  protected fresh(prefix: string): string {
    return `${prefix}${this.names++}`;
  }

  protected trace(expression: string): string {
    return `t.log(${this.traces++}, ${expression})`;
  }

  // --- statements ---------------------------------------------------------------------------------------------------

  protected body(context: Context): string {
    const statements = this.statements({ ...context, loops: [], blocks: [], inLoop: false, inSwitch: false });
    return `{ if (!t.go() || level > 12) return 0; level++; try { ${statements} } finally { level--; } }`;
  }

  protected block(context: Context): string {
    return `{ ${this.statements(context)} }`;
  }

  protected statements(context: Context): string {
    const count = 1 + this.int(context.depth > 3 ? 2 : 4);
    let inside = context;
    const parts: string[] = [];
    for (let i = 0; i < count; i++) {
      const [text, after] = this.statement({ ...inside, depth: context.depth + 1 });
      parts.push(text);
      inside = { ...inside, variables: after.variables, assignable: after.assignable };
    }
    return parts.join("\n");
  }

  /** A statement, and what it declares for those after it. */
  protected statement(context: Context): [string, Context] {
    const { depth } = context;
    const plain = (text: string): [string, Context] => [text, context];
    const kind = this.int(depth > 5 ? 7 : 21);
    switch (kind) {
      case 0:
      case 1:
        return plain(`${this.trace(this.expression(context))};`);
      case 2:
        return this.declaration(context);
      case 3:
        return plain(this.jump(context));
      case 4:
        return plain(
          `${this.pick(context.assignable)} ${this.pick(["=", "??=", "||=", "&&=", "="])} ${this.expression(context)};`,
        );
      case 5:
        return plain(`fs.push(${this.closure(context)});`);
      case 6:
        return plain(
          `if (${this.expression(context)}) ${this.trace(this.expression(context))}; else ${this.jump(context)}`,
        );
      case 7:
      case 8:
        return plain(
          `if (${this.expression(context)}) ${this.branch(context)}${this.chance(0.6) ? ` else ${this.branch(context)}` : ""}`,
        );
      case 9:
        return plain(this.switch(context));
      case 10:
      case 11:
        return plain(this.try(context));
      case 12: {
        const label = this.fresh("b");
        return plain(`${label}: ${this.block({ ...context, blocks: [...context.blocks, label] })}`);
      }
      case 13:
        return this.functionDeclaration(context);
      case 14:
        return this.destructuring(context);
      case 15:
        return plain(this.block(context));
      default:
        return plain(this.loop(context));
    }
  }

  private branch(context: Context): string {
    const inside = { ...context, depth: context.depth + 1 };
    return this.chance(0.3) ? this.loop(inside) : this.block(inside);
  }

  private declaration(context: Context): [string, Context] {
    const name = this.fresh("v");
    const kind = this.pick(["let", "const", "var"]);
    const after = {
      ...context,
      variables: [...context.variables, name],
      assignable: kind === "const" ? context.assignable : [...context.assignable, name],
    };
    return [`${kind} ${name}: any = ${this.expression(context)};`, after];
  }

  private destructuring(context: Context): [string, Context] {
    const [x, y] = [this.fresh("d"), this.fresh("d")];
    const text = this.pick([
      () => `const { p: ${x} = ${this.expression(context)}, ...${y} } = { q: ${this.expression(context)} } as any;`,
      () => `let [${x} = ${this.expression(context)}, ...${y}] = [undefined, ${this.expression(context)}] as any[];`,
      () =>
        `let ${x}: any, ${y}: any; ({ [${this.trace('"k"')}]: ${x} = ${this.expression(context)}, z: ${y} = 2 } = {} as any);`,
    ])();
    return [text, { ...context, variables: [...context.variables, x, y] }];
  }

  private functionDeclaration(context: Context): [string, Context] {
    const name = this.fresh("fn");
    const kind = this.pick(["sync", "async", "arrow"]);
    const inside = this.nested(context, kind !== "sync");
    const head =
      kind === "arrow"
        ? `const ${name} = async (x: any = ${this.leaf(context)}) =>`
        : `${kind === "async" ? "async " : ""}function ${name}(x: any = ${this.leaf(context)}): any`;
    const text = `${head} ${this.body({ ...inside, variables: [...inside.variables, "x"], method: false })}`;
    const value =
      kind === "sync"
        ? `${name}(${this.leaf(context)})`
        : context.async
          ? `await ${name}(${this.leaf(context)})`
          : `void ${name}(2)`;
    return [`${text}\n${this.trace(value)};`, context];
  }

  protected nested(context: Context, async: boolean): Context {
    return {
      ...context,
      async,
      generator: false,
      depth: context.depth + 2,
      loops: [],
      blocks: [],
      inLoop: false,
      inSwitch: false,
    };
  }

  private jump(context: Context): string {
    const jumps = [`${this.trace("1")};`, ";"];
    if (context.inLoop) jumps.push("continue;", "break;", "break;");
    else if (context.inSwitch) jumps.push("break;", "break;");
    for (const label of context.loops) jumps.push(`continue ${label};`, `break ${label};`);
    for (const label of context.blocks) jumps.push(`break ${label};`);
    if (this.chance(0.2)) jumps.push(`return ${this.leaf(context)};`);
    if (this.chance(0.2)) jumps.push(`throw ${this.trace('"x"')};`);
    return this.pick(jumps);
  }

  private switch(context: Context): string {
    const inside = { ...context, inSwitch: true, depth: context.depth + 1 };
    const clause = (test: string): string =>
      `${test}: ${this.chance(0.3) ? "" : this.block(inside)} ${this.chance(0.5) ? "break;" : ""}`;
    const cases = [
      clause(`case ${this.int(3)}`),
      clause(`case ${this.expression(context)}`),
      ...(this.chance(0.6) ? [clause("default")] : []),
      clause(`case ${this.int(3)}`),
    ];
    return `switch (${this.expression(context)}) { ${cases.join("\n")} }`;
  }

  private try(context: Context): string {
    const name = this.fresh("e");
    const inside = { ...context, variables: [...context.variables, name] };
    const handler = this.chance(0.7)
      ? ` catch (${name}: any) ${this.block({ ...inside, depth: context.depth + 1 })}`
      : "";
    const cleanup =
      handler === "" || this.chance(0.4) ? ` finally ${this.block({ ...context, depth: context.depth + 1 })}` : "";
    return `try ${this.block({ ...context, depth: context.depth + 1 })}${handler}${cleanup}`;
  }

  private loop(context: Context): string {
    const label = this.chance(0.4) ? this.fresh("l") : undefined;
    const i = this.fresh("i");
    const inside: Context = {
      ...context,
      inLoop: true,
      inSwitch: false,
      depth: context.depth + 1,
      loops: label === undefined ? context.loops : [...context.loops, label],
      variables: [...context.variables, i],
    };
    const ofLoop = { ...inside, assignable: context.assignable };
    const counting = { ...inside, assignable: [...context.assignable, i] };
    const outer = { ...inside, variables: context.variables };
    const single = (at: Context): string =>
      this.chance(0.15) ? `${this.trace(this.expression(at))};` : this.chance(0.05) ? ";" : this.block(at);
    const head = label === undefined ? "" : `${label}: `;
    const test = (at: Context): string => `t.go() && ${this.expression(at)}`;
    switch (this.int(context.async ? 8 : 7)) {
      case 0:
        return `${head}for (let ${i}: any = ${this.int(2)}; ${i} < ${1 + this.int(4)} && t.go(); ${i}++) ${single(counting)}`;
      case 1:
        return `${head}for (let ${i}: any = ${this.expression(context)}, c${i} = ${this.closure(inside)}; fs.push(c${i}), ${test(counting)}; ${this.expression(counting)}, ${i}++) ${single(counting)}`;
      case 2:
        return `${head}for (var ${i}: any = 0; ${i} < ${1 + this.int(3)} && ${test(inside)}; ${i} += ${this.trace("1")}) ${single(counting)}`;
      case 3:
        return `${head}for (const ${i} of ${this.pick(["[1, 2, 3]", `g(${this.leaf(context)}, 5)`, `[${this.expression(context)}, 2]`, '"ab"'])}) ${single(ofLoop)}`;
      case 4:
        return `${head}for (const { length: ${i} = ${this.expression(context)} } of ["", [1], {}] as any[]) ${single(ofLoop)}`;
      case 5:
        return `${head}while (${test(outer)}) ${single(outer)}`;
      case 6:
        return `${head}do ${single(outer)} while (${test(outer)});`;
      default:
        return `${head}for await (const ${i} of ${this.pick([`ag(${this.leaf(context)})`, `[${this.leaf(context)}, h(2)]`])}) ${single(ofLoop)}`;
    }
  }

  // --- expressions --------------------------------------------------------------------------------------------------

  protected leaf(context: Context): string {
    return this.pick([...context.variables, String(this.int(4)), '"s"', "undefined"]);
  }

  protected closure(context: Context): string {
    const inside = this.nested(context, this.chance(0.5));
    const expression = this.expression({ ...inside, depth: context.depth + 3 });
    const assigned = this.chance(0.3) ? `(${this.pick(context.assignable)} = ${expression})` : `(${expression})`;
    return `${inside.async ? "async " : ""}() => ${assigned}`;
  }

  protected expression(context: Context): string {
    if (context.depth > 7 || this.chance(0.25)) return this.leaf(context);
    const deeper = { ...context, depth: context.depth + 2 };
    const e = (): string => this.expression(deeper);
    const choices: (() => string)[] = [
      () => this.trace(e()),
      () => `f(${e()})`,
      () => `(${e()} ${this.pick(["&&", "||", "??", ","])} ${e()})`,
      () => `(${e()} ? ${e()} : ${e()})`,
      () => `o.m(${e()})`,
      () => `o?.m(${e()})`,
      () => `o.n?.m(${e()}).x[${e()}]`,
      () => `o.g.g?.m?.(${e()})`,
      () => `o.g[${this.trace('"m"')}](${e()})`,
      () => `(o?.g).m(${e()})`,
      () => `o?.["g"]!.m(${e()})`,
      () => `new ${this.pick(["C", "D"])}(${e()}).m(${e()})`,
      () =>
        `[${e()}, 2].map((x: any) => ${this.expression({ ...this.nested(deeper, false), variables: [...context.variables, "x"] })}).length`,
      () => `[...g(${e()}, ${e()})].length`,
      () => `\`\${${e()}}-\${\`\${${e()}}\`}\``,
      () => `t.tag\`x\${${e()}}y\``,
      () => `(${e()} === ${e()})`,
      () => `typeof ${e()}`,
      () => `(({ [${this.trace('"z"')}]: ${e()}, ...{ y: ${e()} } }) as any).z`,
      () =>
        `((x: any, y: any = ${this.expression({ ...deeper, async: false, generator: false })}) => ${this.expression({ ...this.nested(deeper, false), variables: [...context.variables, "x", "y"] })})(${e()})`,
      () => `delete (o as any)?.[${this.trace('"zz"')}]`,
      () => `(${this.pick(context.assignable)} = ${e()})`,
    ];
    if (context.async) {
      const many = [
        () => `(await step(t.id, t.plain(${e()})))`,
        () => `(await step(() => t.plain(${this.leaf(context)})))`,
        () => `(await h(${e()}))`,
        () => `(await o.am(${e()}))`,
        () => `(await new D(${e()}).am(await ${e()}))`,
        () => `t.plain(await Promise.all([${e()}, ${this.concurrent(deeper)}(), ${this.concurrent(deeper)}()]))`,
        () => `(await step({ name: "n" }, t.id, t.plain(${e()})))`,
      ];
      choices.push(...many, ...many);
    }
    if (context.generator)
      choices.push(
        () => `(yield ${e()})`,
        () => `(yield ${this.trace(e())})`,
      );
    if (context.method)
      choices.push(
        () => "this.v",
        () => "arguments.length",
        () => `(this.v = ${e()})`,
      );
    return this.pick(choices)();
  }

  private concurrent(context: Context): string {
    const inside = this.nested(context, true);
    return `(async () => { ${this.trace(this.expression(inside))}; return ${this.expression(inside)}; })`;
  }
}

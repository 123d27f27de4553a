/** Programs as source text. Every call has a label, passed lexically, that says which logical call it is. */
import ts from "typescript";
import {
  type Block,
  type Call,
  type Helper,
  helperAt,
  type MapForm,
  type Program,
  type Statement,
  type Task,
} from "./program.js";

type Kind<K extends Statement["statement"]> = Extract<Statement, { statement: K }>;
type Functions = Kind<"map" | "limited" | "queue" | "closure" | "deferred" | "generator" | "emitter" | "stream">;

/** Where a piece of code stands. */
interface Place {
  /** Name of the variable that holds the label of the activation around. */
  label: string;
  /** Name of the array that the activation's results go to. */
  out: string;
  /** Index of the helper around; -1 in the workflow itself. */
  helper: number;
}

export const workflowName = "program";

/** Begins the names of streams. */
export const streamName = "to ";

/** Ends the input of a child run, with which all its labels begin. */
export const childInput = ">";

/** @param edit what somebody has done to the text since */
export function print(program: Program, edit?: Edit): string {
  return prelude + new Printer(program, edit).text();
}

/** An edit of the text: at one of its statements, counted from 0 in the order in which they end. */
export interface Edit {
  kind: EditKind;
  at: number;
}

export const editKinds = [
  "insert a call of another name",
  "insert a call of the same name",
  "insert a call without arguments",
  "insert a thunk",
  "insert a call behind a change",
  "delete",
  "copy",
  "swap",
  "wrap in if",
  "wrap in try",
  "wrap in a loop",
  "wrap in a function",
] as const;
export type EditKind = (typeof editKinds)[number];

/** How many statements a program's text has. */
export function statementsOf(program: Program): number {
  const printer = new Printer(program);
  printer.text();
  return printer.statements;
}

/** Without what all programs have in common, and laid out for people. */
export function show(program: Program): string {
  const file = ts.createSourceFile("flow.ts", new Printer(program).text(), ts.ScriptTarget.ESNext);
  return ts.createPrinter().printFile(file).trimEnd();
}

const prelude = `
import { changed, child, events, keyed, now, publish, random, sleep, step, uuid, waitFor, workflow } from "stepmark";
import { begin, crash, draw, end, fail, flaky, messageOf, said, settled, shop, slow, starts, t, took, work } from "world";
import { Emitter, lifo, limiter, pLimit, retry, scatter, sequence } from "world";
const workOn = (label) => step(work, label);
const given = (label) => t(label, step(work, label));
function seen(most) {
  let running = 0;
  const waiting = [];
  return (task) => new Promise((resolve, reject) => {
    const start = () => {
      running++;
      task().then(resolve, reject).finally(() => { running--; waiting.shift()?.(); });
    };
    if (running < most) start(); else waiting.push(start);
  });
}
async function drain(source) { const all = []; for await (const each of source) all.push(each); return all; }
`;

class Printer {
  statements = 0;
  private ids = 0;

  constructor(
    private readonly program: Program,
    private readonly edit?: Edit,
  ) {}

  text(): string {
    const helpers = this.program.helpers.map((helper, index) => this.helper(helper, index));
    const workflows = this.program.helpers.map(
      (_, i) => `const w${i} = workflow("sub${i}", async (label) => h${i}(label, 1));`,
    );
    const children = this.program.helpers.map(
      (_, i) => `const c${i} = workflow("child${i}", async (label) => {
        starts(label);
        return { label: label.slice(0, -1), inner: await h${i}(label, 1) };
      });`,
    );
    const main = this.body(this.program.main, -1, "label").replace("{", "{ starts(label);");
    return [
      ...helpers,
      ...workflows,
      ...children,
      `export const main = workflow("${workflowName}", async (label) => ${main});`,
    ].join("\n");
  }

  private id(): number {
    return ++this.ids;
  }

  private helper({ form, body }: Helper, index: number): string {
    const label = `label${this.id()}`;
    const again =
      form === "recursive"
        ? `if (depth > 0) out0.push(await h${index}(${label} + "r", depth - 1));`
        : form === "fan-out"
          ? `if (depth > 0) out0.push(await Promise.all(["x", "y"].map((k) => h${index}(${label} + k, depth - 1))));`
          : "";
    const inner = this.block(body, { label, out: "out0", helper: index });
    const code = `{ const out0 = []; ${inner} ${again} return out0; }`;
    return form === "arrow"
      ? `const h${index} = async (${label}, depth) => ${code};`
      : `async function h${index}(${label}, depth) ${code}`;
  }

  /** A function body with results of its own. */
  private body(block: Block, helper: number, label: string): string {
    const out = `out${this.id()}`;
    return `{ const ${out} = []; ${this.block(block, { label, out, helper })} return ${out}; }`;
  }

  private block(block: Block, place: Place): string {
    const texts: string[] = [];
    let swap = false;
    for (const each of block) {
      const text = this.statement(each, place);
      const isEdited = this.statements++ === this.edit?.at;
      texts.push(isEdited ? edited(text, place, this.edit!.kind) : text);
      if (swap) texts.push(...texts.splice(-2).reverse());
      swap = isEdited && this.edit!.kind === "swap";
    }
    return texts.join(" ");
  }

  /** An expression for a label of its own below the place. */
  private label(place: Place): string {
    return `${place.label} + ".${this.id()}"`;
  }

  private statement(each: Statement, place: Place): string {
    const { out } = place;
    switch (each.statement) {
      case "await":
        return `${out}.push(await ${this.task(each.task, place, false)});`;
      case "background":
        return `void ${this.task(each.task, place, true)}.catch(() => {});`;
      case "foreign":
        return `${out}.push(await ${each.use}(${labels(this.label(place), each.times)}, given));`;
      case "join":
        return this.join(each, place);
      case "try":
        return this.attempt(each, place);
      case "loop":
        return this.loop(each, place);
      case "changed":
        return `if (${change(`c${each.id}`)}) { ${this.block(each.body, place)} } else { ${this.block(each.other, place)} }`;
      default:
        return `{ ${this.functions(each, place)} }`;
    }
  }

  private join({ how, tasks }: Kind<"join">, place: Place): string {
    const joined = `Promise.${how}([${tasks.map((task) => this.task(task, place, how !== "all")).join(", ")}])`;
    if (how === "allSettled") return `${place.out}.push((await ${joined}).map(settled));`;
    return `${place.out}.push(await ${joined}${how === "all" ? "" : ".catch(messageOf)"});`;
  }

  private attempt({ body, throws, handler, rethrow, end }: Kind<"try">, place: Place): string {
    const { out } = place;
    const label = this.label(place);
    const error = `e${this.id()}`;
    const thrown = {
      nothing: "",
      error: `throw new Error("thrown " + ${label});`,
      fail: `${out}.push(await t(${label}, step(fail, ${label})));`,
      crash: `${out}.push(await t(${label}, step(crash, ${label})));`,
    }[throws];
    const again = rethrow && throws === "crash" ? `throw new Error("wrapped", { cause: ${error} });` : "";
    return `
      try { ${this.block(body, place)} ${thrown} }
      catch (${error}) { ${out}.push(${error}.message); ${this.block(handler, place)} ${again} }
      finally { ${this.block(end, place)} }`;
  }

  private loop({ kind, times, jump, body }: Kind<"loop">, place: Place): string {
    const n = this.id();
    const [label, i, at] = [this.label(place), `i${n}`, `p${n}`];
    const here = { ...place, label: at };
    const [first, ...rest] = body;
    const target = kind === "labelled" ? ` outer${n}` : "";
    const code = `
      ${this.block([first!], here)}
      ${jump === "none" ? "" : `if (${i} === 1) ${jump}${target};`}
      ${this.block(rest, here)}`;
    const round = `{ const ${at} = ${label} + ":" + ${i}; ${code} }`;
    const list = `[${Array.from({ length: times }, (_, index) => index).join(", ")}]`;
    switch (kind) {
      case "for":
        return `for (let ${i} = 0; ${i} < ${times}; ${i}++) ${round}`;
      case "of":
        return `for (const ${i} of ${list}) ${round}`;
      case "in":
        return `for (const k${n} in ${list}) { const ${i} = Number(k${n}); ${round} }`;
      case "while":
        return `let ${i} = -1; while (++${i} < ${times}) ${round}`;
      case "do":
        return `let ${i} = 0; do ${round} while (++${i} < ${times});`;
      case "await":
        return `for await (const ${i} of ${list}) ${round}`;
      case "keyed":
        return `for (const ${i} of keyed(${list}, (x) => "k" + x)) ${round}`;
      case "labelled":
        return `outer${n}: for (const ${i} of ${list}) for (const j${n} of [0, 1]) {
          const ${at} = ${label} + ":" + ${i} + j${n};
          ${code}
        }`;
    }
  }

  /** Statements that make functions; each stands in a block of its own, so that its names need no numbers. */
  private functions(each: Functions, place: Place): string {
    const { out } = place;
    const label = this.label(place);
    const at = `p${this.id()}`;
    const body = this.body(each.body, place.helper, at);
    switch (each.statement) {
      case "map": {
        const items = labels(label, each.times);
        const { before, mapped } = mappings(items, at, body)[each.via];
        const after = each.how === "all" ? "" : ".map(settled)";
        return `${before} ${out}.push((await Promise.${each.how}(${mapped}))${after});`;
      }
      case "limited": {
        const make = { seen: "seen", unseen: "limiter", lifo: "lifo", "p-limit": "pLimit" }[each.by];
        const items = labels(label, each.times);
        return `
          const limit = ${make}(${each.most});
          ${out}.push(await Promise.all(${items}.map((${at}) => limit(async () => ${body}))));`;
      }
      case "queue":
        return `
          const queue = ${labels("", each.jobs)};
          const done = {};
          const worker = async () => {
            for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
              const ${at} = ${label} + job;
              done[job] = await (async () => ${body})();
            }
          };
          await Promise.all([${Array.from({ length: each.workers }, () => "worker()").join(", ")}]);
          ${out}.push(Object.keys(done).sort().map((job) => done[job]));`;
      case "closure":
        return `const f = async (${at}) => ${body}; ${closureUse(each.use, label, out)}`;
      case "deferred":
        return `
          const fs = [];
          for (const ${at} of ${labels(label, each.times)}) fs.push(async () => ${body});
          ${each.order === "reverse" ? `for (const f of fs.reverse()) ${out}.push(await f());` : ""}
          ${each.order === "together" ? `${out}.push(await Promise.all(fs.reverse().map((f) => f())));` : ""}`;
      case "generator": {
        const rounds = `for (const ${at} of ${labels("q", each.times)}) yield`;
        if (each.kind === "sync")
          return `
            function* g(q) { ${rounds} (async () => ${body})(); }
            for (const x of g(${label})) ${out}.push(await x);`;
        const use =
          each.kind === "async"
            ? `for await (const x of g(${label})) ${out}.push(x);`
            : `const [a, b] = [g(${label} + "a"), g(${label} + "b")];
               ${out}.push(await Promise.all([drain(b), drain(a)]));`;
        return `async function* g(q) { ${rounds} await (async () => ${body})(); } ${use}`;
      }
      case "stream": {
        const messages = `events("${streamName}" + own, { payload: { stream: own, times: ${each.pull === "pair" ? 2 : each.times} } })`;
        if (each.pull === "pair")
          return `
            const own = ${label};
            const messages = ${messages};
            const next = async (i) => {
              ${out}.push(took(own, i, (await messages.next()).value));
              const ${at} = own + ":" + i;
              return (async () => ${body})();
            };
            ${out}.push(await Promise.all([next(0), next(1)]));`;
        return `
          const own = ${label};
          let i = 0;
          for await (const message of ${messages}) {
            ${out}.push(took(own, i, message));
            const ${at} = own + ":" + i;
            ${out}.push(await (async () => ${body})());
            if (++i === ${each.times}) break;
          }`;
      }
      case "emitter":
        return `
          const emitter = new Emitter();
          const heard = {};
          const hear = async (${at}) => ${body};
          await Promise.all(${labels(label, each.listeners)}.map(async (own) => {
            await t(own, step(work, own));
            emitter.on((value) => {
              heard[own + value] = hear(own + value);
              heard[own + value].catch(() => {});
            });
          }));
          emitter.emit("!");
          emitter.emit("?");
          for (const each of Object.keys(heard).sort()) ${out}.push(await heard[each]);`;
    }
  }

  /** @param caught whether what the task throws is caught where it stands */
  private task(each: Task, place: Place, caught: boolean): string {
    const label = this.label(place);
    switch (each.task) {
      case "call":
        return this.given(each.call, place, label);
      case "branch":
        return `(async () => ${this.body(each.body, place.helper, place.label)})()`;
      case "chain": {
        const body = this.body(each.body, place.helper, place.label);
        return `${this.given(each.call, place, label)}.then(async () => ${body})`;
      }
      case "method": {
        const inner = `p${this.id()}`;
        const body = this.body(each.body, place.helper, inner);
        return `new (class {
          constructor(own) { this.own = own; }
          async go() { const ${inner} = this.own; return (async () => ${body})(); }
        })(${label}).go()`;
      }
      case "helper":
      case "workflow":
      case "child": {
        const index = helperAt(this.program, each.helper, place.helper);
        if (index === undefined) return `t(${label}, workOn(${label}))`;
        if (each.task === "child" && !isRefused(this.program, index))
          return `t(${label}, child(c${index}, ${label} + "${childInput}"), true)`;
        return each.task === "workflow"
          ? `w${index}(${label})`
          : `h${index}(${label}, ${each.task === "helper" ? each.depth : 1})`;
      }
      case "fail": {
        const failing = `t(${label}, step(fail, ${label}))`;
        return caught ? failing : `${failing}.catch(messageOf)`;
      }
      case "crash":
        return `t(${label}, step(crash, ${label}))`;
    }
  }

  private given(each: Call, place: Place, label: string): string {
    const given = `t(${label}, ${this.call(each, place, label)}${each.call === "nested" ? ", true" : ""})`;
    return each.call === "timed" ? `${given}.catch(messageOf)` : given;
  }

  private call(each: Call, place: Place, label: string): string {
    switch (each.call) {
      case "step":
        return {
          plain: `step(work, ${label})`,
          named: `step("named", work, ${label})`,
          thunk: `step(() => work(${label}))`,
          draw: "step(draw)",
          keyed: `step({ key: ${label} }, work, ${label})`,
          method: `step(shop.work, ${label})`,
          shared: `workOn(${label})`,
          local: `((x) => step(work, x))(${label})`,
        }[each.form];
      case "retry":
        return `step({ retries: 2, backoff: ${each.backoff} }, flaky, ${label}, ${each.failures})`;
      case "timed":
        return `step({ timeout: ${each.ms}, retries: ${each.retries}, backoff: 10 }, slow, ${label})`;
      case "nested": {
        const out = `out${this.id()}`;
        const inner = this.block(each.body, { ...place, out });
        const body = `async () => { begin(${label}); const ${out} = []; ${inner} return end(${label}, ${out}); }`;
        return `step(${each.retries ? "{ retries: 1, backoff: 0 }, " : ""}${body})`;
      }
      case "wait":
        return `waitFor("ok", { payload: ${label} })`;
      case "sleep":
        return `sleep(${each.ms})`;
      case "publish":
        return `publish("progress", ${label})`;
      case "value":
        return `${each.of}()`;
    }
  }
}

/** Whether a helper, or one further down, may be refused: as a run of its own it would be the failure of a call then. */
function isRefused({ helpers }: Program, index: number): boolean {
  return JSON.stringify(helpers.slice(index)).includes('"scatter"');
}

/** A statement after an edit; what is new has labels of its own. */
function edited(text: string, { label, out }: Place, kind: EditKind): string {
  const inserted = (call: string): string => `${out}.push(await t(${label} + ".new", ${call})); ${text}`;
  switch (kind) {
    case "insert a call of another name":
      return inserted(`step("new", work, ${label} + ".new")`);
    case "insert a call of the same name":
      return inserted(`step(work, ${label} + ".new")`);
    case "insert a call without arguments":
      return inserted("step(draw)");
    case "insert a thunk":
      return inserted(`step(() => work(${label} + ".new"))`);
    case "insert a call behind a change":
      return `if (${change("new")}) ${inserted(`step("new", work, ${label} + ".new")`)}`;
    case "delete":
      return "";
    case "copy":
      return `${text} { const copied = ${label} + ".copy"; ${text.replaceAll(new RegExp(`\\b${label} \\+ `, "g"), "copied + ")} }`;
    case "swap":
      return text;
    case "wrap in if":
      return `if (${out}) { ${text} }`;
    case "wrap in try":
      return `try { ${text} } finally { ${out}.length; }`;
    case "wrap in a loop":
      return `for (const _ of [0]) { ${text} }`;
    case "wrap in a function":
      return `await (async () => { ${text} })();`;
  }
}

/** An expression that asks whether the run knows of a change. */
function change(id: string): string {
  return `said("${id}", await changed("${id}"))`;
}

/** The ways to do something for each item at once. */
function mappings(items: string, at: string, body: string): Record<MapForm, { before: string; mapped: string }> {
  const each = `async (${at}) => ${body}`;
  return {
    arrow: { before: "", mapped: `${items}.map(${each})` },
    helper: { before: `const f = ${each};`, mapped: `${items}.map(f)` },
    keyed: { before: "", mapped: `keyed(${items}, (x) => x).map(${each})` },
    push: {
      before: `const ps = []; for (const ${at} of ${items}) ps.push((async () => ${body})());`,
      mapped: "ps",
    },
    chain: { before: "", mapped: `${items}.map((${at}) => Promise.resolve().then(async () => ${body}))` },
  };
}

function closureUse(use: Kind<"closure">["use"], label: string, out: string): string {
  const [a, b] = [`${label} + "a"`, `${label} + "b"`];
  return {
    sequence: `${out}.push(await f(${a})); ${out}.push(await f(${b}));`,
    together: `${out}.push(await Promise.all([f(${a}), f(${b})]));`,
    map: `${out}.push(await Promise.all([${a}, ${b}].map(f)));`,
    unseen: `${out}.push(await sequence([${a}, ${b}], f));`,
    retry: `
      let left = 1;
      ${out}.push(await retry(async () => {
        const at = ${a} + left;
        if (left-- > 0) await t(at, step(fail, at));
        return f(at);
      }));`,
  }[use];
}

/** An array expression of labels below a label. */
function labels(label: string, length: number): string {
  return `[${Array.from({ length }, (_, i) => `${label}${label && " + "}"/${i}"`).join(", ")}]`;
}

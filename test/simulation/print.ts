/** Programs as source text. Every call has a label, passed lexically, that says which logical call it is. */
import { type Block, type Call, type Helper, helperAt, type Program, type Statement, type Task } from "./program.js";

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

export function print(program: Program): string {
  return new Printer(program).text();
}

const prelude = `import { keyed, now, random, sleep, step, uuid, waitFor, workflow } from "stepmark";
import { begin, crash, draw, end, fail, flaky, got, lifo, limiter, pLimit, messageOf, retry, scatter, sequence, settled, shop, t, work, Emitter } from "world";
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
async function drain(source) { const all = []; for await (const each of source) all.push(each); return all; }`;

class Printer {
  private ids = 0;

  constructor(private readonly program: Program) {}

  text(): string {
    const helpers = this.program.helpers.map((helper, index) => this.helper(helper, index));
    const workflows = this.program.helpers.map(
      (_, i) => `const w${i} = workflow("sub${i}", async (label) => h${i}(label, 1));`,
    );
    const main = this.body(this.program.main, -1, "label");
    return [
      prelude,
      ...helpers,
      ...workflows,
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
    return block.map((each) => this.statement(each, place)).join(" ");
  }

  /** An expression for a label of its own below the place. */
  private label(place: Place): string {
    return `${place.label} + ".${this.id()}"`;
  }

  private statement(each: Statement, place: Place): string {
    const { out, helper } = place;
    const n = this.id();
    const label = `${place.label} + ".${n}"`;
    const inner = `p${n}`;
    switch (each.statement) {
      case "await":
        return `${out}.push(await ${this.task(each.task, place, false)});`;
      case "background":
        return `void ${this.task(each.task, place, true)}.catch(() => {});`;
      case "loop":
        return this.loop(each, place, n);
      case "join": {
        const caught = each.how !== "all";
        const tasks = each.tasks.map((task) => this.task(task, place, caught)).join(", ");
        const joined = `Promise.${each.how}([${tasks}])`;
        if (each.how === "allSettled") return `${out}.push((await ${joined}).map(settled));`;
        return `${out}.push(await ${joined}${each.how === "all" ? "" : ".catch(messageOf)"});`;
      }
      case "map": {
        const after = each.how === "allSettled" ? ".map(settled)" : "";
        const body = this.body(each.body, helper, inner);
        const items = labels(label, each.times);
        const mapped = {
          arrow: `${items}.map(async (${inner}) => ${body})`,
          helper: `${items}.map(f${n})`,
          keyed: `keyed(${items}, (x) => x).map(async (${inner}) => ${body})`,
          push: `ps${n}`,
          chain: `${items}.map((${inner}) => Promise.resolve().then(async () => ${body}))`,
        }[each.via];
        const before = {
          arrow: "",
          helper: `const f${n} = async (${inner}) => ${body};`,
          keyed: "",
          push: `const ps${n} = []; for (const ${inner} of ${items}) ps${n}.push((async () => ${body})());`,
          chain: "",
        }[each.via];
        return `${before} ${out}.push((await Promise.${each.how}(${mapped}))${after});`;
      }
      case "limited": {
        const make = { seen: "seen", unseen: "limiter", lifo: "lifo", "p-limit": "pLimit" }[each.by];
        const body = this.body(each.body, helper, inner);
        return `const limit${n} = ${make}(${each.most}); ${out}.push(await Promise.all(${labels(label, each.times)}.map((${inner}) => limit${n}(async () => ${body}))));`;
      }
      case "queue": {
        const workers = Array.from({ length: each.workers }, () => `worker${n}()`).join(", ");
        return (
          `const queue${n} = [${range(each.jobs)}]; const done${n} = {}; ` +
          `const worker${n} = async () => { for (let job = queue${n}.shift(); job !== undefined; job = queue${n}.shift()) { ` +
          `const ${inner} = ${label} + ":" + job; const o${n} = []; ${this.block(each.body, { label: inner, out: `o${n}`, helper })} done${n}[job] = o${n}; } }; ` +
          `await Promise.all([${workers}]); ${out}.push(done${n});`
        );
      }
      case "try": {
        const thrown = {
          nothing: "",
          error: `throw new Error("thrown " + ${label});`,
          fail: `${out}.push(await t(${label}, step(fail, ${label})));`,
          crash: `${out}.push(await t(${label}, step(crash, ${label})));`,
        }[each.throws];
        const rethrow = each.rethrow && each.throws === "crash" ? `throw new Error("wrapped", { cause: e${n} });` : "";
        return (
          `try { ${this.block(each.body, place)} ${thrown} } ` +
          `catch (e${n}) { ${out}.push(e${n}.message); ${this.block(each.handler, place)} ${rethrow} } ` +
          `finally { ${this.block(each.end, place)} }`
        );
      }
      case "closure": {
        const body = this.body(each.body, helper, inner);
        const define = `const f${n} = async (${inner}) => ${body};`;
        const [a, b] = [`${label} + "a"`, `${label} + "b"`];
        const use = {
          sequence: `${out}.push(await f${n}(${a})); ${out}.push(await f${n}(${b}));`,
          together: `${out}.push(await Promise.all([f${n}(${a}), f${n}(${b})]));`,
          map: `${out}.push(await Promise.all([${a}, ${b}].map(f${n})));`,
          unseen: `${out}.push(await sequence([${a}, ${b}], f${n}));`,
          retry: `let left${n} = 1; ${out}.push(await retry(async () => { const at = ${a} + left${n}; if (left${n}-- > 0) await t(at, step(fail, at)); return f${n}(at); }));`,
        }[each.use];
        return `${define} ${use}`;
      }
      case "deferred": {
        const body = this.body(each.body, helper, inner);
        const define = `const fs${n} = []; for (const ${inner} of ${labels(label, each.times)}) fs${n}.push(async () => ${body});`;
        return each.order === "reverse"
          ? `${define} for (const f of fs${n}.reverse()) ${out}.push(await f());`
          : `${define} ${out}.push(await Promise.all(fs${n}.reverse().map((f) => f())));`;
      }
      case "generator": {
        const body = this.body(each.body, helper, inner);
        if (each.kind === "sync") {
          const define = `function* g${n}(q${n}) { for (const ${inner} of ${labels(`q${n}`, each.times)}) yield (async () => ${body})(); }`;
          return `${define} for (const x of g${n}(${label})) ${out}.push(await x);`;
        }
        const define = `async function* g${n}(q${n}) { for (const ${inner} of ${labels(`q${n}`, each.times)}) yield await (async () => ${body})(); }`;
        return each.kind === "async"
          ? `${define} for await (const x of g${n}(${label})) ${out}.push(x);`
          : `${define} const a${n} = g${n}(${label} + "a"); const b${n} = g${n}(${label} + "b"); ${out}.push(await Promise.all([drain(b${n}), drain(a${n})]));`;
      }
      case "foreign":
        return `${out}.push(await ${each.use}(${labels(label, each.times)}, given));`;
      case "emitter": {
        const body = this.body(each.body, helper, `at${n}`);
        return (
          `const em${n} = new Emitter(); const heard${n} = {}; ` +
          `await Promise.all(${labels(label, each.listeners)}.map(async (${inner}) => { await t(${inner}, step(work, ${inner})); ` +
          `em${n}.on((value) => { const at${n} = ${inner} + value; heard${n}[at${n}] = (async () => ${body})(); heard${n}[at${n}].catch(() => {}); }); })); ` +
          `em${n}.emit("!"); em${n}.emit("?"); for (const each of Object.keys(heard${n}).sort()) ${out}.push(await heard${n}[each]);`
        );
      }
    }
  }

  private loop(each: Extract<Statement, { statement: "loop" }>, place: Place, n: number): string {
    const { kind, times, jump } = each;
    const label = `${place.label} + ".${n}"`;
    const inner = `p${n}`;
    const i = `i${n}`;
    const jumps = jump === "none" ? "" : `if (${i} === 1) ${jump}${kind === "labelled" ? ` outer${n}` : ""};`;
    const [first, ...rest] = each.body;
    const here = { ...place, label: inner };
    const code = `${this.block([first!], here)} ${jumps} ${this.block(rest, here)}`;
    const body = `{ const ${inner} = ${label} + ":" + ${i}; ${code} }`;
    const list = `[${range(times)}]`;
    switch (kind) {
      case "for":
        return `for (let ${i} = 0; ${i} < ${times}; ${i}++) ${body}`;
      case "of":
        return `for (const ${i} of ${list}) ${body}`;
      case "in":
        return `for (const k${n} in ${list}) { const ${i} = Number(k${n}); ${body} }`;
      case "while":
        return `let ${i} = -1; while (++${i} < ${times}) ${body}`;
      case "do":
        return `let ${i} = 0; do ${body} while (++${i} < ${times});`;
      case "await":
        return `for await (const ${i} of ${list}) ${body}`;
      case "labelled":
        return `outer${n}: for (const ${i} of ${list}) for (const j${n} of [0, 1]) { const ${inner} = ${label} + ":" + ${i} + j${n}; ${code} }`;
      case "keyed":
        return `for (const ${i} of keyed(${list}, (x) => "k" + x)) ${body}`;
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
      case "chain":
        return `${this.given(each.call, place, label)}.then(async () => ${this.body(each.body, place.helper, place.label)})`;
      case "method": {
        const inner = `p${this.id()}`;
        return `new (class { constructor(own) { this.own = own; } async go() { const ${inner} = this.own; ${this.body(each.body, place.helper, inner).slice(1)} })(${label}).go()`;
      }
      case "helper":
      case "workflow": {
        const index = helperAt(this.program, each.helper, place.helper);
        if (index === undefined) return `t(${label}, workOn(${label}))`;
        return each.task === "workflow" ? `w${index}(${label})` : `h${index}(${label}, ${each.depth})`;
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
    return `t(${label}, ${this.call(each, place, label)}${each.call === "nested" ? ", true" : ""})`;
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
        return `step({ retries: 2, backoff: 0 }, flaky, ${label}, ${each.failures})`;
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
      case "value":
        return `${each.of}()`;
    }
  }
}

function range(length: number): string {
  return Array.from({ length }, (_, i) => i).join(", ");
}

/** An array expression of labels below a label. */
function labels(label: string, length: number): string {
  return `[${Array.from({ length }, (_, i) => `${label} + "/${i}"`).join(", ")}]`;
}

/** Workflow programs as plain data: what fast-check generates and shrinks, and `print.ts` writes as source text. */
import fc from "fast-check";

/** A call of the library. */
export type Call =
  | { call: "step"; form: StepForm }
  /** A body that fails so often before it succeeds, under a policy that allows two retries. */
  | { call: "retry"; failures: number; backoff: number }
  /** A body that may take longer than an attempt is given. */
  | { call: "timed"; ms: number; retries: number }
  /** A step whose body makes calls of its own. */
  | { call: "nested"; body: Block; retries: boolean }
  | { call: "wait" }
  | { call: "sleep"; ms: number }
  | { call: "publish" }
  | { call: "value"; of: "now" | "random" | "uuid" };

export type StepForm = "plain" | "named" | "thunk" | "draw" | "keyed" | "method" | "shared" | "local";

/** What evaluates to a promise and is under way at once. */
export type Task =
  | { task: "call"; call: Call }
  | { task: "branch"; body: Block }
  | { task: "chain"; call: Call; body: Block }
  | { task: "helper"; helper: number; depth: number }
  | { task: "workflow"; helper: number }
  /** A run of its own. */
  | { task: "child"; helper: number }
  | { task: "method"; body: Block }
  /** A step that fails, each time. */
  | { task: "fail" }
  /** A step that fails the first time its body runs; mostly, that fails the run, which is then resumed. */
  | { task: "crash" };

export type Join = "all" | "allSettled" | "race" | "any";
export type LoopKind = "for" | "of" | "in" | "while" | "do" | "await" | "labelled" | "keyed";

export type Statement =
  | { statement: "await"; task: Task }
  | { statement: "loop"; kind: LoopKind; times: number; jump: "none" | "continue" | "break"; body: Block }
  | { statement: "join"; how: Join; tasks: Task[] }
  | { statement: "map"; how: "all" | "allSettled"; via: MapForm; times: number; body: Block }
  | { statement: "limited"; by: "seen" | "unseen" | "lifo" | "p-limit"; most: number; times: number; body: Block }
  | { statement: "queue"; workers: number; jobs: number; body: Block }
  | {
      statement: "try";
      throws: "nothing" | "error" | "fail" | "crash";
      body: Block;
      handler: Block;
      end: Block;
      rethrow: boolean;
    }
  | { statement: "closure"; use: "sequence" | "together" | "map" | "unseen" | "retry"; body: Block }
  | { statement: "deferred"; order: "reverse" | "together"; times: number; body: Block }
  | { statement: "generator"; kind: "async" | "sync" | "two"; times: number; body: Block }
  | { statement: "emitter"; listeners: number; body: Block }
  /** Code that is not transformed calls a module-level function, for one label after the other or for all at once. */
  | { statement: "foreign"; use: "sequence" | "scatter"; times: number }
  /** A call that nobody awaits. */
  | { statement: "background"; task: Task }
  /** Messages from outside: one after the other, or two asked for at once. */
  | { statement: "stream"; pull: "loop" | "pair"; times: number; body: Block }
  /** What runs that know of a change do, and what others do. */
  | { statement: "changed"; id: number; body: Block; other: Block };

export type MapForm = "arrow" | "helper" | "keyed" | "push" | "chain";
export type Block = Statement[];

export interface Helper {
  form: "function" | "arrow" | "recursive" | "fan-out";
  body: Block;
}

export interface Program {
  main: Block;
  helpers: Helper[];
}

/** What can be expected of a program. */
export interface Traits {
  /** What the code does depends on the order in which outcomes come. */
  ordered: boolean;
  /** Which call gets which key depends on that order, though not what the code does. */
  moves: boolean;
  /** The run may fail and be resumed. */
  crashes: boolean;
  /** Code that is not transformed calls module-level functions concurrently, which may be refused. */
  scatters: boolean;
  /** A step body that makes calls may start over, and with it what failed in it. */
  renews: boolean;
  /** The text is not the one that recorded the run. */
  edited?: boolean;
  /** Two statements have changed places in it. */
  swapped?: boolean;
}

/** So long, in milliseconds, that the run gives itself up meanwhile. */
const longSleep = 20_000;

const small = (max: number): fc.Arbitrary<number> => fc.integer({ min: 1, max });

interface Parts {
  block: Block;
  statement: Statement;
  task: Task;
  call: Call;
}

const { block, statement } = fc.letrec<Parts>((tie) => {
  const depth = fc.createDepthIdentifier();
  const body = tie("block") as fc.Arbitrary<Block>;
  const anyTask = tie("task") as fc.Arbitrary<Task>;
  const anyCall = tie("call") as fc.Arbitrary<Call>;
  const call: fc.Arbitrary<Call> = fc.oneof(
    { depthIdentifier: depth, maxDepth: 6, withCrossShrink: true },
    {
      weight: 8,
      arbitrary: fc.record({
        call: fc.constant("step" as const),
        form: fc.constantFrom<StepForm[]>("plain", "named", "thunk", "draw", "keyed", "method", "shared", "local"),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        call: fc.constant("retry" as const),
        failures: fc.nat(2),
        backoff: fc.constantFrom(0, 20),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ call: fc.constant("timed" as const), ms: small(40), retries: fc.nat(1) }),
    },
    { weight: 3, arbitrary: fc.record({ call: fc.constant("wait" as const) }) },
    {
      weight: 2,
      arbitrary: fc.record({ call: fc.constant("sleep" as const), ms: fc.oneof(small(30), fc.constant(longSleep)) }),
    },
    { weight: 2, arbitrary: fc.record({ call: fc.constant("publish" as const) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        call: fc.constant("value" as const),
        of: fc.constantFrom("now" as const, "random" as const, "uuid" as const),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ call: fc.constant("nested" as const), body, retries: fc.boolean() }),
    },
  );
  const task: fc.Arbitrary<Task> = fc.oneof(
    { depthIdentifier: depth, maxDepth: 5, withCrossShrink: true },
    { weight: 8, arbitrary: fc.record({ task: fc.constant("call" as const), call: anyCall }) },
    { weight: 1, arbitrary: fc.record({ task: fc.constant("fail" as const) }) },
    { weight: 1, arbitrary: fc.record({ task: fc.constant("crash" as const) }) },
    { weight: 3, arbitrary: fc.record({ task: fc.constant("helper" as const), helper: fc.nat(3), depth: fc.nat(2) }) },
    { weight: 3, arbitrary: fc.record({ task: fc.constant("branch" as const), body }) },
    { weight: 1, arbitrary: fc.record({ task: fc.constant("chain" as const), call: anyCall, body }) },
    { weight: 1, arbitrary: fc.record({ task: fc.constant("workflow" as const), helper: fc.nat(3) }) },
    { weight: 5, arbitrary: fc.record({ task: fc.constant("child" as const), helper: fc.nat(3) }) },
    { weight: 1, arbitrary: fc.record({ task: fc.constant("method" as const), body }) },
  );
  const statement: fc.Arbitrary<Statement> = fc.oneof(
    { depthIdentifier: depth, maxDepth: 5, withCrossShrink: true },
    { weight: 8, arbitrary: fc.record({ statement: fc.constant("await" as const), task: anyTask }) },
    { weight: 1, arbitrary: fc.record({ statement: fc.constant("background" as const), task: anyTask }) },
    {
      weight: 3,
      arbitrary: fc.record({
        statement: fc.constant("loop" as const),
        kind: fc.constantFrom<LoopKind[]>("for", "of", "in", "while", "do", "await", "labelled", "keyed"),
        times: small(3),
        jump: fc.constantFrom("none" as const, "none" as const, "continue" as const, "break" as const),
        body,
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        statement: fc.constant("join" as const),
        how: fc.constantFrom<Join[]>("all", "all", "all", "allSettled", "race", "any"),
        tasks: fc.array(anyTask, { minLength: 1, maxLength: 3 }),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        statement: fc.constant("map" as const),
        how: fc.constantFrom("all" as const, "all" as const, "allSettled" as const),
        via: fc.constantFrom<MapForm[]>("arrow", "helper", "keyed", "push", "chain"),
        times: small(3),
        body,
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        statement: fc.constant("limited" as const),
        by: fc.constantFrom("seen" as const, "unseen" as const, "lifo" as const, "p-limit" as const),
        most: small(2),
        times: small(3),
        body,
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ statement: fc.constant("queue" as const), workers: small(2), jobs: small(4), body }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        statement: fc.constant("try" as const),
        throws: fc.constantFrom("nothing" as const, "error" as const, "fail" as const, "crash" as const),
        body,
        handler: body,
        end: body,
        rethrow: fc.boolean(),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        statement: fc.constant("closure" as const),
        use: fc.constantFrom(
          "sequence" as const,
          "together" as const,
          "map" as const,
          "unseen" as const,
          "retry" as const,
        ),
        body,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        statement: fc.constant("deferred" as const),
        order: fc.constantFrom("reverse" as const, "together" as const),
        times: small(3),
        body,
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        statement: fc.constant("generator" as const),
        kind: fc.constantFrom("async" as const, "sync" as const, "two" as const),
        times: small(2),
        body,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ statement: fc.constant("emitter" as const), listeners: small(2), body }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        statement: fc.constant("foreign" as const),
        use: fc.constantFrom("sequence" as const, "sequence" as const, "scatter" as const),
        times: small(3),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        statement: fc.constant("stream" as const),
        pull: fc.constantFrom("loop" as const, "loop" as const, "pair" as const),
        times: small(3),
        body,
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ statement: fc.constant("changed" as const), id: fc.nat(1), body, other: body }),
    },
  );
  return {
    call,
    task,
    statement,
    block: fc.array(statement, { minLength: 1, maxLength: 2, depthIdentifier: depth }),
  };
});

/** More calls than this, over all iterations, and a program takes too long. */
const mostCalls = 30;

/** Programs of at most so many calls. */
export const programs: fc.Arbitrary<Program> = fc
  .record({
    main: fc.array(statement, { minLength: 1, maxLength: 4 }),
    helpers: fc.array(
      fc.record({
        form: fc.constantFrom<Helper["form"][]>("function", "arrow", "recursive", "fan-out"),
        body: block,
      }),
      { maxLength: 2 },
    ),
  })
  .filter((program) => callsOf(program) <= mostCalls);

/** The helper that a reference of `from` means: one further down, so that only a helper's own recursion recurses. */
export function helperAt({ helpers }: Program, index: number, from: number): number | undefined {
  const left = helpers.length - (from + 1);
  return left > 0 ? from + 1 + (index % left) : undefined;
}

/** About how many calls one run of the program makes. */
function callsOf(program: Program): number {
  const costs: number[] = [];
  for (let from = program.helpers.length - 1; from >= 0; from--)
    costs[from] = ofBlock(program.helpers[from]!.body, from);
  return ofBlock(program.main, -1);

  function ofBlock(statements: Block, from: number): number {
    return statements.reduce((sum, each) => sum + ofStatement(each, from), 0);
  }
  function ofStatement(each: Statement, from: number): number {
    switch (each.statement) {
      case "await":
      case "background":
        return ofTask(each.task, from);
      case "join":
        return each.tasks.reduce((sum, one) => sum + ofTask(one, from), 0);
      case "loop":
        return each.times * (each.kind === "labelled" ? 2 : 1) * ofBlock(each.body, from);
      case "map":
      case "limited":
      case "deferred":
        return each.times * ofBlock(each.body, from);
      case "queue":
        return each.jobs * ofBlock(each.body, from);
      case "try":
        return 1 + ofBlock(each.body, from) + ofBlock(each.handler, from) + ofBlock(each.end, from);
      case "closure":
        return 2 * ofBlock(each.body, from) + (each.use === "retry" ? 2 : 0);
      case "generator":
        return (each.kind === "two" ? 2 : 1) * each.times * ofBlock(each.body, from);
      case "foreign":
        return each.times;
      case "stream":
        return (each.pull === "pair" ? 2 : each.times) * (1 + ofBlock(each.body, from));
      case "changed":
        return 1 + ofBlock(each.body, from);
      case "emitter":
        return each.listeners * (1 + 2 * ofBlock(each.body, from));
    }
  }
  function ofTask(each: Task, from: number): number {
    switch (each.task) {
      case "call":
        return ofCall(each.call, from);
      case "branch":
      case "method":
        return ofBlock(each.body, from);
      case "chain":
        return ofCall(each.call, from) + ofBlock(each.body, from);
      case "helper":
      case "workflow":
      case "child": {
        const helper = helperAt(program, each.helper, from);
        if (helper === undefined) return 1;
        const times = each.task === "helper" ? each.depth : each.task === "child" ? 1 : 0;
        const { form } = program.helpers[helper]!;
        return costs[helper]! * (form === "recursive" ? times + 1 : form === "fan-out" ? 2 ** (times + 1) - 1 : 1);
      }
      default:
        return 1;
    }
  }
  function ofCall(each: Call, from: number): number {
    return each.call === "nested" ? 1 + ofBlock(each.body, from) : 1;
  }
}

export function traitsOf(program: Program): Traits {
  const traits: Traits = { ordered: false, moves: false, crashes: false, renews: false, scatters: false };
  let caught = false;
  let nested = false;
  let background = false;
  visit(program, (node) => {
    if (node.statement === "join" && (node.how === "race" || node.how === "any")) traits.ordered = true;
    // How far a branch comes that nobody awaits depends on what happens meanwhile.
    if (node.statement === "background" && !isLone(node.task as Task)) traits.ordered = true;
    caught ||= node.use === "retry" || node.how === "allSettled" || node.statement === "try";
    nested ||= node.call === "nested";
    background ||= node.statement === "background";
    if (node.call === "nested" && node.retries === true) traits.renews = true;
    // Whether a body is in time depends on what else happens.
    if (node.call === "timed") traits.ordered = true;
    if (node.use === "scatter") traits.scatters = true;
    if (node.statement === "queue") traits.moves = true;
    if (node.task === "crash" || node.throws === "crash") traits.crashes = true;
  });
  // A failure that comes while the run fails for another reason is not seen, and runs again: it is caught or it is not.
  if ((caught || traits.renews) && traits.crashes) traits.ordered = true;
  // What a body leaves behind counts if it ends before the body does.
  if (nested && background) traits.ordered = true;
  return traits;
}

function isLone(task: Task): boolean {
  return task.task === "fail" || (task.task === "call" && task.call.call === "step");
}

type Node = Record<string, unknown>;

function visit(value: unknown, see: (node: Node) => void): void {
  if (Array.isArray(value)) for (const each of value) visit(each, see);
  else if (typeof value === "object" && value !== null) {
    see(value as Node);
    for (const each of Object.values(value)) visit(each, see);
  }
}

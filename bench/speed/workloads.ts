/** What is measured: flows of trivial steps, so that what remains is the library and its store. Every contender writes them in its own way. */

/** The flows that every contender has, with their inputs. */
export interface FlowInputs {
  /** So many steps, one after the other; the output is the sum of what they return. */
  chain: { count: number };
  /** So many times `width` steps at once. */
  fans: { rounds: number; width: number };
  /** One step with a result of so many bytes; the output is its length. */
  large: { bytes: number };
  /** A step whose body calls a step whose body ..., so many deep; the output is the depth. */
  nested: { depth: number };
  /** A function that calls itself twice, at once, until there are so many leaves; a step in each. The output is their number. */
  tree: { leaves: number };
  /** Waits for something that never comes. */
  waiting: Record<string, never>;
}

export type FlowName = keyof FlowInputs;

export type Flows<Flow> = Record<FlowName, Flow>;

export type Shape =
  | { [Name in FlowName]: { kind: "flow"; flow: Name; input: FlowInputs[Name] } }[FlowName]
  | { kind: "together"; runs: number; count: number }
  /** The step after so many recorded ones kills its process; a second process goes on. */
  | { kind: "crash"; recorded: number }
  | { kind: "memory"; runs: number }
  | { kind: "cold" };

export interface Workload {
  title: string;
  unit: "ms" | "bytes";
  shape: Shape;
  /** Only this durability, where the other would say nothing new or take very long. */
  only?: "process";
  /** Measured once, however many rounds there are. */
  once?: true;
  /** Not in the short set. */
  long?: true;
  /** Only these contenders; others are left out without a word. */
  contenders?: readonly string[];
}

/** @returns the workloads by name, in the order in which they are printed */
export function workloads(quick: boolean): Record<string, Workload> {
  const size = (full: number, short: number): number => (quick ? short : full);
  const steps = size(1_000, 100);
  const rounds = steps / 5;
  const together = size(100, 10);
  const leaves = size(10_000, 100);
  const waiting = 10_000;
  const onlyOneDurability = quick ? ({ only: "process" } as const) : {};
  const all: Record<string, Workload> = {
    sequential: {
      title: `${number(steps)} steps in sequence`,
      unit: "ms",
      shape: { kind: "flow", flow: "chain", input: { count: steps } },
    },
    concurrent: {
      title: `${number(rounds)} x 5 steps at once`,
      unit: "ms",
      ...onlyOneDurability,
      shape: { kind: "flow", flow: "fans", input: { rounds, width: 5 } },
    },
    together: {
      title: `${number(together)} runs at once, 10 steps each`,
      unit: "ms",
      ...onlyOneDurability,
      shape: { kind: "together", runs: together, count: 10 },
    },
    large: {
      title: "a step with a result of 1 MB",
      unit: "ms",
      long: true,
      shape: { kind: "flow", flow: "large", input: { bytes: 1_000_000 } },
    },
    nested: {
      title: "steps inside steps, 50 deep",
      unit: "ms",
      long: true,
      shape: { kind: "flow", flow: "nested", input: { depth: 50 } },
    },
    tree: {
      title: `recursion, ${number(leaves)} leaves at once`,
      unit: "ms",
      only: "process",
      once: true,
      shape: { kind: "flow", flow: "tree", input: { leaves } },
    },
    resume: {
      title: `resume of ${number(steps)} recorded steps`,
      unit: "ms",
      ...onlyOneDurability,
      shape: { kind: "crash", recorded: steps },
    },
    "resume-10k": {
      title: "resume of 10,000 recorded steps",
      unit: "ms",
      only: "process",
      once: true,
      long: true,
      shape: { kind: "crash", recorded: 10_000 },
    },
    "resume-100k": {
      title: "resume of 100,000 recorded steps",
      unit: "ms",
      only: "process",
      once: true,
      long: true,
      // To record so many takes others too long.
      contenders: ["raw-sqlite", "stepmark", "raw-postgres", "stepmark-postgres"],
      shape: { kind: "crash", recorded: 100_000 },
    },
    memory: {
      title: `memory of a waiting run (${number(waiting)} of them)`,
      unit: "bytes",
      only: "process",
      once: true,
      // Of few runs it would tell what is loaded with the first of them.
      long: true,
      shape: { kind: "memory", runs: waiting },
    },
    cold: {
      title: "cold start: import to first step's end",
      unit: "ms",
      ...onlyOneDurability,
      shape: { kind: "cold" },
    },
  };
  return Object.fromEntries(Object.entries(all).filter(([, { long }]) => !quick || long === undefined));
}

/** @returns how many steps a shape has in all, or waiting runs; undefined where their number says nothing */
export function sizeOf(shape: Shape): number | undefined {
  switch (shape.kind) {
    case "together":
      return shape.runs * shape.count;
    case "crash":
      return shape.recorded;
    case "memory":
      return shape.runs;
    case "flow":
      break;
    default:
      return undefined;
  }
  switch (shape.flow) {
    case "chain":
      return shape.input.count;
    case "fans":
      return shape.input.rounds * shape.input.width;
    case "nested":
      return shape.input.depth;
    case "tree":
      return shape.input.leaves;
    default:
      return undefined;
  }
}

/** @returns what a flow that is measured must come to */
export function outputOf({ flow, input }: Shape & { kind: "flow" }): number | undefined {
  switch (flow) {
    case "chain":
      return (input.count * (input.count + 1)) / 2;
    case "fans":
      return input.rounds * ((input.width * (input.width + 1)) / 2);
    case "large":
      return input.bytes;
    case "nested":
      return input.depth;
    case "tree":
      return input.leaves;
    case "waiting":
      return undefined;
  }
}

/** What a contender can take. */
export interface Most {
  /** In a run. */
  steps: number;
  /** Runs that wait at once. */
  waiting?: number;
}

/** @returns the shape with no more than that */
export function shortened(shape: Shape, { steps, waiting = Number.POSITIVE_INFINITY }: Most): Shape {
  switch (shape.kind) {
    // The step that was cut counts too, and its second attempt.
    case "crash":
      return { ...shape, recorded: Math.min(shape.recorded, steps - 2) };
    case "memory":
      return { ...shape, runs: Math.min(shape.runs, waiting) };
    case "flow":
      break;
    default:
      return shape;
  }
  switch (shape.flow) {
    case "chain":
      return { ...shape, input: { count: Math.min(shape.input.count, steps) } };
    case "fans": {
      const { rounds, width } = shape.input;
      return { ...shape, input: { rounds: Math.min(rounds, Math.floor(steps / width)), width } };
    }
    case "tree":
      return { ...shape, input: { leaves: Math.min(shape.input.leaves, steps) } };
    default:
      return shape;
  }
}

function number(n: number): string {
  return n.toLocaleString("en");
}

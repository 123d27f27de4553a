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

export interface Workload {
  title: string;
  unit: "ms" | "bytes";
  /** Number of steps, where a rate says something. */
  steps?: number;
  shape:
    | { kind: "flow"; flow: FlowName; input: FlowInputs[FlowName]; output: number }
    | { kind: "together"; runs: number; count: number }
    /** The step after so many recorded ones kills its process; a second process goes on. */
    | { kind: "crash"; recorded: number }
    | { kind: "memory"; runs: number }
    | { kind: "cold" };
  /** Only this durability, where the other would say nothing new or take very long. */
  only?: "process";
  /** Measured once, however many rounds there are. */
  once?: true;
  /** Only these contenders; others are left out without a word. */
  contenders?: readonly string[];
}

/** @returns the workloads by name, in the order in which they are printed */
export function workloads(quick: boolean): Record<string, Workload> {
  const size = (full: number, short: number): number => (quick ? short : full);
  const steps = size(1_000, 200);
  const rounds = steps / 5;
  const together = size(100, 20);
  const leaves = size(10_000, 500);
  const waiting = size(10_000, 200);
  const onlyOneDurability = quick ? ({ only: "process" } as const) : {};
  return {
    sequential: {
      title: `${number(steps)} steps in sequence`,
      unit: "ms",
      steps,
      shape: { kind: "flow", flow: "chain", input: { count: steps }, output: (steps * (steps + 1)) / 2 },
    },
    concurrent: {
      title: `${number(rounds)} x 5 steps at once`,
      unit: "ms",
      ...onlyOneDurability,
      steps,
      shape: { kind: "flow", flow: "fans", input: { rounds, width: 5 }, output: rounds * 15 },
    },
    together: {
      title: `${number(together)} runs at once, 10 steps each`,
      unit: "ms",
      ...onlyOneDurability,
      steps: together * 10,
      shape: { kind: "together", runs: together, count: 10 },
    },
    large: {
      title: "a step with a result of 1 MB",
      unit: "ms",
      ...onlyOneDurability,
      shape: { kind: "flow", flow: "large", input: { bytes: 1_000_000 }, output: 1_000_000 },
    },
    nested: {
      title: "steps inside steps, 50 deep",
      unit: "ms",
      ...onlyOneDurability,
      steps: 50,
      shape: { kind: "flow", flow: "nested", input: { depth: 50 }, output: 50 },
    },
    tree: {
      title: `recursion, ${number(leaves)} leaves at once`,
      unit: "ms",
      steps: leaves,
      only: "process",
      once: true,
      shape: { kind: "flow", flow: "tree", input: { leaves }, output: leaves },
    },
    resume: {
      title: `resume of ${number(steps)} recorded steps`,
      unit: "ms",
      ...onlyOneDurability,
      steps,
      shape: { kind: "crash", recorded: steps },
    },
    ...(quick
      ? {}
      : {
          "resume-10k": {
            title: "resume of 10,000 recorded steps",
            unit: "ms",
            steps: 10_000,
            only: "process",
            once: true,
            shape: { kind: "crash", recorded: 10_000 },
          } satisfies Workload,
          "resume-100k": {
            title: "resume of 100,000 recorded steps",
            unit: "ms",
            steps: 100_000,
            only: "process",
            once: true,
            // To record so many takes others too long.
            contenders: ["raw-sqlite", "stepmark", "raw-postgres", "stepmark-postgres"],
            shape: { kind: "crash", recorded: 100_000 },
          } satisfies Workload,
        }),
    memory: {
      title: `memory of a waiting run (${number(waiting)} of them)`,
      unit: "bytes",
      only: "process",
      once: true,
      shape: { kind: "memory", runs: waiting },
    },
    cold: {
      title: "cold start: import to first step's end",
      unit: "ms",
      ...onlyOneDurability,
      shape: { kind: "cold" },
    },
  };
}

function number(n: number): string {
  return n.toLocaleString("en");
}

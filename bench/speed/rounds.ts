/** Who is measured when: contenders take turns, so that a slow minute of the machine is everyone's. */
import process from "node:process";
import type { Contender, Durability } from "../contenders/contender.js";
import { takePlace } from "../harness/places.js";
import { inChild } from "../harness/processes.js";
import type { Order, Report } from "./child.js";
import { type Spread, spread } from "./statistics.js";
import { outputOf, type Shape, shortened, sizeOf, type Workload } from "./workloads.js";

/** What came out for one contender at one workload. */
export interface Cell {
  contender: string;
  workload: string;
  durability: Durability;
  /** Why there is no number; nothing else is there then. */
  not?: string;
  /** In the workload's unit. */
  value?: Spread;
  /** How many steps there were, or waiting runs, where they are fewer than the workload's. */
  fewer?: number;
  /** Of a resume, in milliseconds: medians of its parts. */
  parts?: { open: number; pickUp: number; replay: number };
}

export interface Plan {
  contenders: readonly Contender[];
  workloads: Record<string, Workload>;
  durabilities: readonly Durability[];
  rounds: number;
  /** Without what only waits. */
  quick: boolean;
  /** A process that takes longer is stopped, in milliseconds. */
  patience: number;
  /** Address of a Postgres server. */
  server: string | undefined;
}

const child = new URL("child.js", import.meta.url);

interface Measured {
  value: number;
  fewer?: number;
  parts?: { open: number; pickUp: number; replay: number };
}

/** @param progress is told of each cell as it is done */
export async function measure(plan: Plan, progress: (cell: Cell) => void): Promise<Cell[]> {
  const cells: Cell[] = [];
  for (const durability of plan.durabilities) {
    for (const [name, workload] of Object.entries(plan.workloads)) {
      if (workload.only !== undefined && workload.only !== durability) continue;
      const rounds = workload.once ? 1 : plan.rounds;
      const measured = new Map<Contender, Measured[] | string>();
      for (const contender of plan.contenders) {
        if (!takesPart(contender, workload, durability)) continue;
        measured.set(contender, whyNot(contender, workload, plan) ?? []);
      }
      for (let round = 0; round < rounds; round++) {
        for (const [contender, all] of measured) {
          if (typeof all === "string") continue;
          try {
            all.push(await once(contender, workload, durability, plan));
          } catch (error) {
            measured.set(contender, (error as Error).message);
          }
        }
      }
      for (const [contender, all] of measured) {
        const cell = { contender: contender.name, workload: name, durability, ...summary(all) };
        cells.push(cell);
        progress(cell);
      }
    }
  }
  return cells;
}

/** Who cannot be less safe than asked for is measured as it is. */
function takesPart(contender: Contender, { contenders }: Workload, durability: Durability): boolean {
  const { power, process } = contender.durability;
  if (contender.speed === undefined || contenders?.includes(contender.name) === false) return false;
  return durability === "power" ? power !== null : (process ?? power) !== null;
}

function summary(all: Measured[] | string): Pick<Cell, "not" | "value" | "fewer" | "parts"> {
  if (typeof all === "string") return { not: all };
  const of = (what: (one: Measured) => number): number => spread(all.map(what)).median;
  const { fewer, parts } = all[0]!;
  return {
    value: spread(all.map(({ value }) => value)),
    ...(fewer !== undefined && { fewer }),
    ...(parts !== undefined && {
      parts: {
        open: of(({ parts }) => parts!.open),
        pickUp: of(({ parts }) => parts!.pickUp),
        replay: of(({ parts }) => parts!.replay),
      },
    }),
  };
}

/** A crashed run that waits longer for its lease is left out of the short set. */
const longLease = 10_000;

function whyNot(contender: Contender, { shape }: Workload, { server, quick }: Plan): string | undefined {
  const missing = contender.missing?.();
  if (missing !== undefined) return `not run: ${missing}`;
  if (contender.store === "Postgres" && server === undefined) return "not run: there is no Postgres";
  if (quick && shape.kind === "crash" && contender.lease !== undefined && contender.lease > longLease) {
    return `not in the short set: a crashed run waits ${contender.lease / 1_000} s for its lease`;
  }
  const what = shape.kind === "flow" ? shape.flow : shape.kind;
  if (what === "together" || what === "cold") return undefined;
  return contender.cannot[what];
}

async function once(contender: Contender, workload: Workload, durability: Durability, plan: Plan): Promise<Measured> {
  const { most } = contender;
  const shape = most === undefined ? workload.shape : shortened(workload.shape, most);
  const size = sizeOf(shape);
  const measured = await measureShape(contender, shape, durability, plan);
  return { ...measured, ...(size !== sizeOf(workload.shape) && { fewer: size! }) };
}

async function measureShape(
  contender: Contender,
  shape: Shape,
  durability: Durability,
  { patience, server }: Plan,
): Promise<Measured> {
  const { remove, ...place } = await takePlace(contender, durability, server);
  const order = (task: Order["task"]): Order => ({ contender: contender.name, place, task });
  const live = async (task: Order["task"]): Promise<Report> => {
    const { message, signal, late, printed } = await inChild(contender, child, order(task), patience);
    if (late) throw new Error(`not ended after ${patience / 1_000} s`);
    const { report, error } = (message ?? {}) as { report?: Report; error?: string };
    if (report !== undefined) return report;
    if (process.env.BENCH_VERBOSE) process.stderr.write(`${printed}\n`);
    throw new Error(`failed: ${firstLine(error ?? `its process ended (${signal ?? "without a word"})`)}`);
  };
  try {
    switch (shape.kind) {
      case "flow": {
        const { flow, input } = shape;
        const task = { kind: "run", flow, input, id: "run", output: outputOf(shape) } as const;
        const { began, entered, left, done } = await live(task);
        return { value: contender.polls ? left! - entered! : done - began };
      }
      case "together": {
        const { began, left, done } = await live({ kind: "together", runs: shape.runs, count: shape.count });
        return { value: (contender.polls ? left! : done) - began };
      }
      case "cold": {
        const { began, left, done } = await live({ kind: "cold" });
        return { value: (contender.polls ? left! : done) - began };
      }
      case "memory": {
        const { bytes } = await live({ kind: "memory", runs: shape.runs });
        return { value: bytes! };
      }
      case "crash": {
        const { recorded } = shape;
        const input = { count: recorded + 1 };
        const killed = order({ kind: "run", flow: "chain", input, id: "run", output: undefined, killAt: recorded });
        const { signal, late, message } = await inChild(contender, child, killed, patience);
        if (late) throw new Error(`did not record so many steps in ${patience / 1_000} s`);
        if (signal !== "SIGKILL") {
          throw new Error(`failed: ${firstLine((message as { error?: string } | undefined)?.error ?? "no crash")}`);
        }
        const spawned = Date.now();
        const { opened, entered, body } = await live({ kind: "resume", flow: "chain", id: "run" });
        if (body === undefined) throw new Error("failed: the run ended without its last step");
        const parts = {
          open: Math.max(0, Math.min(opened, entered!) - spawned),
          pickUp: Math.max(0, entered! - opened),
          replay: body - entered!,
        };
        return { value: parts.replay, parts };
      }
    }
  } finally {
    await remove();
  }
}

const firstLine = (text: string): string => text.split("\n")[0]!.slice(0, 160);

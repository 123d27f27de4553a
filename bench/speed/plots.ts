/** Results as pictures: a bar a contender, a panel a workload, on a logarithmic scale. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as Plot from "@observablehq/plot";
import { parseHTML } from "linkedom";
import type { Contender, Durability } from "../contenders/contender.js";
import { folder } from "../harness/docs.js";
import { type Results, titleOf } from "./table.js";

/** Readable on a light and on a dark page: the pictures have no background of their own. */
const ink = "#7f8896";
const ours = "#3b82f6";
const theirs = "#a3a9b5";
const limit = "#d19a2e";

/** Where bars begin, in milliseconds: what takes less is drawn as if it took so long. */
const shortest = 0.5;

/** Puts them beside the data in the docs. */
export function writePlots(results: Results, contenders: readonly Contender[]): void {
  mkdirSync(folder, { recursive: true });
  for (const [name, svg] of drawSpeed(results, contenders)) writeFileSync(join(folder, `${name}.svg`), svg);
}

/** @returns SVG texts by name: one a durability */
function drawSpeed(results: Results, contenders: readonly Contender[]): Map<string, string> {
  const durabilities = [...new Set(results.cells.map(({ durability }) => durability))];
  return new Map(durabilities.map((durability) => [durability, draw(results, contenders, durability)]));
}

interface Bar {
  workload: string;
  contender: string;
  milliseconds: number;
  label: string;
}

function draw(results: Results, contenders: readonly Contender[], durability: Durability): string {
  const timed = Object.entries(results.workloads).filter(([, { unit }]) => unit === "ms");
  const bars = timed.flatMap(([workload, { title }]) =>
    results.cells
      .filter((cell) => cell.durability === durability && cell.workload === workload && cell.value !== undefined)
      .map(
        ({ contender, value }): Bar => ({
          workload: title,
          contender: contenders.find(({ name }) => name === contender)!.title,
          milliseconds: Math.max(value!.median, shortest),
          label: label(value!.median),
        }),
      ),
  );
  const panels = timed.map(([, { title }]) => title).filter((title) => bars.some(({ workload }) => workload === title));
  const rows = contenders.map(({ title }) => title).filter((title) => bars.some((bar) => bar.contender === title));
  const longest = 1.3 * Math.max(...bars.map(({ milliseconds }) => milliseconds));
  const { document } = parseHTML("<html><body></body></html>");
  const plot = Plot.plot({
    document: document as never,
    width: 900,
    height: panels.length * (rows.length * 14 + 26) + 60,
    marginLeft: 170,
    marginRight: 70,
    style: { background: "none", color: ink, fontSize: "11px", fontFamily: "system-ui, sans-serif" },
    x: {
      type: "log",
      domain: [shortest, longest],
      ticks: [1, 10, 100, 1_000, 10_000, 100_000].filter((tick) => tick < longest),
      tickFormat: (tick: number) => tick.toLocaleString("en"),
      label: "milliseconds, less is better (logarithmic)",
      grid: true,
    },
    y: { domain: rows, label: null, tickSize: 0, padding: 0.15 },
    fy: { domain: panels, label: null, axis: null, padding: 0.18 },
    marks: [
      Plot.barX(bars, {
        x1: shortest,
        x2: "milliseconds",
        y: "contender",
        fy: "workload",
        fill: (bar: Bar) => colour(bar.contender),
      }),
      Plot.text(bars, { x: "milliseconds", y: "contender", fy: "workload", text: "label", textAnchor: "start", dx: 4 }),
      Plot.text(panels, {
        fy: (title: string) => title,
        text: (title: string) => title,
        frameAnchor: "top-left",
        dy: -15,
        fontWeight: "bold",
        fontSize: 12,
      }),
    ],
  });
  plot.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  plot.setAttribute("role", "img");
  plot.setAttribute("aria-label", `${titleOf[durability]}: the numbers are in the table`);
  return `${plot.outerHTML}\n`;
}

const colour = (title: string): string =>
  title.startsWith("stepmark") ? ours : title.startsWith("raw") ? limit : theirs;

const label = (ms: number): string => (ms < 10 ? ms.toFixed(1) : Math.round(ms).toLocaleString("en"));

/** Draws the timeline: only what is in sight, and nothing that would lie upon itself. */
import { takesNoTime } from "../../runtime/journal/entry.js";
import { duration } from "./format.js";
import type { Lane, Placed } from "./lanes.js";
import { type Bar, barsAt, type CallStatus, type Mark, rowsAt } from "./model.js";
import type { TimeScale } from "./time-scale.js";

/** In pixels. */
export const laneHeight = 22;
export const axisHeight = 28;
const barHeight = 13;
const smallest = 3;

export type Colours = Readonly<Record<ColourName, string>>;
export const colourNames = [
  ...["ink", "ink-2", "ink-3", "line", "line-strong", "surface", "sunken", "accent", "accent-soft"],
  ...["done", "done-ink", "failed", "failed-ink", "wait", "wait-soft", "wait-ink"],
  ...["timer", "timer-soft", "timer-ink", "child", "child-soft", "child-ink"],
] as const;
export type ColourName = (typeof colourNames)[number];

export interface Scene {
  /** Of the canvas, in pixels. */
  width: number;
  height: number;
  /** Of the column in which the scopes are named. */
  labelWidth: number;
  scrollTop: number;
  lanes: readonly Lane[];
  labels: readonly string[];
  scale: TimeScale;
  /** Positions at the left and the right. */
  view: readonly [from: number, to: number];
  /** Nothing after this entry is known. */
  seq: number;
  /** When that was, if there is more. */
  cursor: number | undefined;
  /** Until when what goes on has gone on. */
  now: number;
  marks: readonly Mark[];
  selected: string | undefined;
  hovered: string | undefined;
  colours: Colours;
  font: string;
  mono: string;
}

/** Where a time is, in pixels. */
export function xOf({ labelWidth, width, scale, view: [from, to] }: Scene, time: number): number {
  return labelWidth + ((scale.position(time) - from) / (to - from)) * (width - labelWidth);
}

/** What time it is at a pixel. */
export function timeAt({ labelWidth, width, scale, view: [from, to] }: Scene, x: number): number {
  return scale.time(from + ((x - labelWidth) / (width - labelWidth)) * (to - from));
}

export function paint(context: CanvasRenderingContext2D, scene: Scene): void {
  const { width, height, labelWidth, scrollTop, lanes, colours } = scene;
  context.clearRect(0, 0, width, height);
  const first = Math.max(0, Math.floor(scrollTop / laneHeight));
  const end = Math.min(lanes.length, Math.ceil((scrollTop + height - axisHeight) / laneHeight));
  const top = (index: number): number => axisHeight + index * laneHeight - scrollTop;
  context.save();
  context.beginPath();
  context.rect(0, axisHeight, width, height - axisHeight);
  context.clip();
  for (let index = first; index < end; index++) {
    if (lanes[index]!.number > 0 || index === 0) continue;
    context.fillStyle = colours.line;
    context.fillRect(0, Math.round(top(index)), width, 1);
  }
  context.save();
  context.beginPath();
  context.rect(labelWidth, axisHeight, width - labelWidth, height - axisHeight);
  context.clip();
  paintFolds(context, scene);
  for (let index = first; index < end; index++) paintLane(context, scene, lanes[index]!, top(index));
  paintMarks(context, scene);
  context.restore();
  for (let index = first; index < end; index++) paintLabel(context, scene, index, top(index));
  context.restore();
  paintAxis(context, scene);
  paintCursor(context, scene);
  context.fillStyle = colours.line;
  context.fillRect(labelWidth - 1, 0, 1, height);
}

function paintLabel(context: CanvasRenderingContext2D, scene: Scene, index: number, y: number): void {
  const { lanes, labels, labelWidth, colours, mono, selected } = scene;
  const { number, scope, calls } = lanes[index]!;
  if (number > 0) return;
  const isHere = selected !== undefined && calls.some(({ call }) => call.key === selected);
  context.font = `${isHere ? "600 " : ""}11.5px ${mono}`;
  context.textBaseline = "middle";
  context.fillStyle = scope.depth === 0 || isHere ? colours.ink : colours["ink-2"];
  context.fillText(shortened(context, labels[index]!, labelWidth - 22), 12, y + laneHeight / 2 + 0.5);
}

/** The end of a text, as much as there is room for. */
function shortened(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (context.measureText(text).width <= room) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (context.measureText(`…${text.slice(middle)}`).width <= room) high = middle;
    else low = middle + 1;
  }
  return `…${text.slice(low)}`;
}

function paintLane(context: CanvasRenderingContext2D, scene: Scene, lane: Lane, y: number): void {
  const { selected, hovered, labelWidth, width, view, scale } = scene;
  const [from, to] = [scale.time(view[0]), scale.time(view[1])];
  // Where something has been drawn already; a failure is drawn all the same.
  let taken = Number.NEGATIVE_INFINITY;
  let special: Placed | undefined;
  for (let at = firstIn(lane.calls, from); at < lane.calls.length; at++) {
    const placed = lane.calls[at]!;
    if (placed.start > to) break;
    const { call } = placed;
    if (call.key === selected || (call.key === hovered && special?.call.key !== selected)) special = placed;
    const end = xOf(scene, Math.min(placed.end, scene.now));
    const failed = call.rows.at(-1)!.state === "failed";
    if (end <= taken + 0.5 && !failed && at < lane.calls.length - 1) continue;
    if (rowsAt(call, scene.seq).length === 0) continue;
    const next = lane.calls[at + 1];
    paintCall(
      context,
      scene,
      placed,
      y,
      next === undefined ? smallest : xOf(scene, next.start) - xOf(scene, placed.start),
    );
    taken = Math.max(taken, end, xOf(scene, placed.start) + 1);
  }
  if (special === undefined || rowsAt(special.call, scene.seq).length === 0) return;
  paintCall(context, scene, special, y, smallest);
  const x = Math.max(labelWidth - 4, xOf(scene, special.start));
  const end = Math.min(width + 4, Math.max(xOf(scene, Math.min(special.end, scene.now)), x + smallest));
  context.strokeStyle = scene.colours.accent;
  context.lineWidth = special.call.key === selected ? 2 : 1;
  context.beginPath();
  context.roundRect(x - 2.5, y + (laneHeight - barHeight) / 2 - 2.5, end - x + 5, barHeight + 5, 5);
  context.stroke();
}

/** Index of the first call that ends after a time: in a lane ends are in order too. */
export function firstIn(calls: readonly Placed[], time: number): number {
  let low = 0;
  let high = calls.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (calls[middle]!.end < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** @param room how far the next call is away */
function paintCall(context: CanvasRenderingContext2D, scene: Scene, { call }: Placed, y: number, room: number): void {
  const { colours, now } = scene;
  const middle = y + laneHeight / 2;
  if (takesNoTime(call.kind)) {
    const x = xOf(scene, call.rows[0]!.start);
    context.fillStyle = call.kind === "publish" ? colours.accent : colours["ink-3"];
    context.beginPath();
    context.moveTo(x, middle - 4);
    context.lineTo(x + 4, middle);
    context.lineTo(x, middle + 4);
    context.lineTo(x - 4, middle);
    context.fill();
    return;
  }
  for (const bar of barsAt(call, scene.seq)) {
    const x = xOf(scene, bar.start);
    // Wide enough to be seen, but not over what follows; and with a line between two that touch.
    const least = x + Math.max(1, Math.min(smallest, room));
    const exact = xOf(scene, bar.end ?? now);
    const end = Math.max(exact - x > 5 ? exact - 0.75 : exact, least);
    paintBar(context, scene, call.kind, bar, x, end, middle - barHeight / 2);
    for (const notch of bar.notches) {
      const at = Math.min(Math.max(xOf(scene, notch), x), end);
      context.fillStyle = colours.surface;
      context.fillRect(at - 1.5, middle - barHeight / 2, 3, barHeight);
      context.fillStyle = colours["failed-ink"];
      context.fillRect(at - 0.75, middle - barHeight / 2 - 2, 1.5, barHeight + 4);
    }
    const notch = bar.notches.map((each) => xOf(scene, each)).find((each) => each - x > 34);
    const free = Math.min(end, notch ?? end);
    if (free - x > 34) paintName(context, scene, call.node.label, call.kind, bar.status, x, free, middle);
  }
}

function paintBar(
  context: CanvasRenderingContext2D,
  { colours, labelWidth, width }: Scene,
  kind: Placed["call"]["kind"],
  { status, end: ended }: Bar,
  start: number,
  end: number,
  y: number,
): void {
  // Nothing far outside: some canvases draw such shapes wrong.
  const x = Math.max(start, labelWidth - 8);
  const length = Math.min(end, width + 8) - x;
  if (length <= 0) return;
  context.beginPath();
  if (length < 3) context.rect(x, y, length, barHeight);
  else context.roundRect(x, y, length, barHeight, Math.min(3.5, length / 2));
  if (kind === "step") {
    context.fillStyle = status === "failed" ? colours.failed : colours.done;
    context.globalAlpha = status === "trying" ? 0.45 : 1;
    context.fill();
    context.globalAlpha = 1;
    return;
  }
  const family = kind === "wait" ? "wait" : kind === "timer" ? "timer" : "child";
  context.fillStyle = status === "failed" ? colours.failed : colours[`${family}-soft`];
  context.fill();
  if (length < 5) {
    context.fillStyle = colours[family];
    context.fill();
    return;
  }
  context.strokeStyle = status === "failed" ? colours["failed-ink"] : colours[family];
  context.lineWidth = 1;
  if (ended === undefined) context.setLineDash([3, 2.5]);
  context.beginPath();
  context.roundRect(x + 0.5, y + 0.5, length - 1, barHeight - 1, 3);
  context.stroke();
  context.setLineDash([]);
}

function paintName(
  context: CanvasRenderingContext2D,
  { colours, font, labelWidth, width }: Scene,
  label: string,
  kind: Placed["call"]["kind"],
  status: CallStatus,
  start: number,
  end: number,
  middle: number,
): void {
  const x = Math.max(start, labelWidth) + 5;
  const room = Math.min(end, width) - x - 4;
  if (room < 24) return;
  context.font = `500 10.5px ${font}`;
  let text = label;
  if (context.measureText(text).width > room) {
    const fits = Math.floor((room / context.measureText(text).width) * text.length) - 1;
    if (fits < 3) return;
    text = `${text.slice(0, fits)}…`;
  }
  const solid = kind === "step" || status === "failed";
  const family = kind === "wait" ? "wait" : kind === "timer" ? "timer" : "child";
  context.fillStyle = solid ? (status === "trying" ? colours.ink : colours["done-ink"]) : colours[`${family}-ink`];
  context.textBaseline = "middle";
  context.fillText(text, x, middle + 0.75);
}

/** Time that was left out. */
function paintFolds(context: CanvasRenderingContext2D, scene: Scene): void {
  const { scale, height, colours } = scene;
  for (const { from, to } of scale.folds) {
    const [x, end] = [xOf(scene, from), xOf(scene, to)];
    if (end < scene.labelWidth || x > scene.width || end - x < 4) continue;
    context.save();
    context.beginPath();
    context.rect(x, axisHeight, end - x, height - axisHeight);
    context.clip();
    context.fillStyle = colours.sunken;
    context.fillRect(x, axisHeight, end - x, height - axisHeight);
    context.strokeStyle = colours.line;
    context.lineWidth = 1;
    context.beginPath();
    for (let at = x - height; at < end; at += 9) {
      context.moveTo(at, height);
      context.lineTo(at + height, 0);
    }
    context.stroke();
    context.restore();
  }
}

function paintAxis(context: CanvasRenderingContext2D, scene: Scene): void {
  const { width, labelWidth, scale, view, colours, font } = scene;
  context.fillStyle = colours.surface;
  context.fillRect(0, 0, width, axisHeight);
  context.fillStyle = colours.line;
  context.fillRect(0, axisHeight - 1, width, 1);
  context.save();
  context.beginPath();
  context.rect(labelWidth, 0, width - labelWidth, axisHeight);
  context.clip();
  context.font = `10.5px ${font}`;
  context.textBaseline = "middle";
  context.textAlign = "center";
  const taken: Array<readonly [number, number]> = [];
  const put = (text: string, x: number, colour: string, always = false): boolean => {
    const half = context.measureText(text).width / 2 + 6;
    const at = Math.min(Math.max(x, labelWidth + half), width - half);
    if (!always && taken.some(([from, to]) => at + half > from && at - half < to)) return false;
    taken.push([at - half, at + half]);
    context.fillStyle = colour;
    context.fillText(text, at, axisHeight / 2);
    return true;
  };
  for (const { from, to } of scale.folds) {
    const [x, end] = [xOf(scene, from), xOf(scene, to)];
    if (end < labelWidth || x > width) continue;
    put(`⋯ ${duration(to - from)} ⋯`, (x + end) / 2, colours["ink-3"]);
  }
  const perPixel = (view[1] - view[0]) / (width - labelWidth);
  const step = niceStep(perPixel * 96);
  const begins = [...scale.folds.map(({ to }) => to)];
  const ends = [...scale.folds.map(({ from }) => from)];
  for (const [index, from] of [scale.start, ...begins].entries()) {
    const to = [...ends, scale.end][index]!;
    const visibleFrom = Math.max(from, scale.time(view[0]));
    const visibleTo = Math.min(to, scale.time(view[1]));
    let count = 0;
    for (
      let at = Math.ceil((visibleFrom - scale.start) / step) * step;
      at <= visibleTo - scale.start && count < 60;
      at += step
    ) {
      count++;
      const x = xOf(scene, scale.start + at);
      if (put(at === 0 ? "0" : `+${duration(at)}`, x, colours["ink-2"])) {
        context.fillStyle = colours["line-strong"];
        context.fillRect(Math.round(x), axisHeight - 5, 1, 4);
      }
    }
  }
  context.restore();
  context.textAlign = "start";
}

const niceSteps = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000],
  ...[120_000, 300_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 43_200_000, 86_400_000],
];

function niceStep(least: number): number {
  const found = niceSteps.find((step) => step >= least);
  return found ?? Math.ceil(least / 86_400_000) * 86_400_000;
}

function paintMarks(context: CanvasRenderingContext2D, scene: Scene): void {
  const { marks, height, colours, seq } = scene;
  for (const mark of marks) {
    if (mark.seq > seq) continue;
    const x = Math.round(xOf(scene, mark.time));
    const from = Math.round(xOf(scene, mark.before));
    context.fillStyle = mark.kind === "process" ? colours["failed-ink"] : colours.accent;
    if (mark.kind === "process" && x - from > 2) {
      context.globalAlpha = 0.09;
      context.fillRect(from, axisHeight, x - from, height - axisHeight);
      context.globalAlpha = 1;
    }
    context.strokeStyle = context.fillStyle;
    context.lineWidth = 1;
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(x + 0.5, axisHeight);
    context.lineTo(x + 0.5, height);
    context.stroke();
    context.setLineDash([]);
    context.beginPath();
    context.moveTo(x + 0.5, axisHeight);
    context.lineTo(x + 8, axisHeight + 4.5);
    context.lineTo(x + 0.5, axisHeight + 9);
    context.fill();
  }
}

function paintCursor(context: CanvasRenderingContext2D, scene: Scene): void {
  const { cursor, height, colours, labelWidth, width } = scene;
  if (cursor === undefined) return;
  const x = xOf(scene, cursor);
  if (x < labelWidth - 1 || x > width + 1) return;
  const at = Math.min(Math.round(x), width - 2);
  context.fillStyle = colours.accent;
  context.fillRect(at, axisHeight - 4, 1.5, height - axisHeight + 4);
  context.beginPath();
  context.moveTo(at - 4, axisHeight - 9);
  context.lineTo(at + 5.5, axisHeight - 9);
  context.lineTo(at + 0.75, axisHeight - 2);
  context.fill();
}

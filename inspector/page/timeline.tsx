/** The run over time: a lane for each scope, drawn on a canvas. */

import type { JSX, TargetedMouseEvent } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { takesNoTime } from "../../runtime/journal/entry.js";
import { duration } from "./format.js";
import { Drawing, KindSign } from "./glyphs.js";
import { isKnown, type Lane, lanesOf, type Placed } from "./lanes.js";
import { type Call, type Mark, type Model, rowsAt, statusAt } from "./model.js";
import {
  axisHeight,
  type ColourName,
  type Colours,
  colourNames,
  firstIn,
  laneHeight,
  paint,
  type Scene,
  timeAt,
  xOf,
} from "./paint.js";
import { TimeScale } from "./time-scale.js";
import { kindWords, statusWords } from "./words.js";

export interface TimelineProps {
  model: Model;
  version: number;
  /** When the run was created, and until when it goes, or has gone, on. */
  start: number;
  end: number;
  seq: number;
  selected: string | undefined;
  onSelect(key: string): void;
  onOpen(): void;
  /** Changes with the colours. */
  theme: string;
}

/** The least that can be looked at, in milliseconds. */
const narrowest = 2;

export function Timeline(props: TimelineProps): JSX.Element {
  const { model, version, start, end, seq, selected, onSelect, onOpen, theme } = props;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [folding, setFolding] = useState(true);
  const [zoom, setZoom] = useState<readonly [number, number] | undefined>();
  const [tip, setTip] = useState<{ x: number; y: number; lines: string[] } | undefined>();
  const hovered = useRef<string | undefined>(undefined);
  const all = useMemo(() => lanesOf(model), [model, version]);
  const isLast = seq >= model.lastSeq;
  const lanes = useMemo(() => (isLast ? all : all.filter((lane) => isKnown(lane, seq))), [all, isLast, seq]);
  const labels = useMemo(() => lanes.map(labelOf), [lanes]);
  const busy = useMemo(() => [...busyTimes(model)], [model, version]);
  const scale = useMemo(() => new TimeScale(start, end, busy, folding), [start, end, busy, folding]);
  const view = useMemo<readonly [number, number]>(() => {
    const margin = scale.length * 0.015;
    return zoom ?? [-margin, scale.length + margin];
  }, [zoom, scale]);
  const rows = model.rows;
  const cursor = isLast ? undefined : seq === 0 ? start : rows[seq - 1]?.end;
  const fonts = useRef<{ theme: string; colours: Colours; font: string; mono: string } | undefined>(undefined);

  const scene = useCallback((): Scene => {
    const { clientWidth, clientHeight, scrollTop } = box.current!;
    if (fonts.current?.theme !== theme) fonts.current = { theme, ...stylesOf(box.current!) };
    const { colours, font, mono } = fonts.current;
    return {
      ...{ width: clientWidth, height: clientHeight, labelWidth: clientWidth < 560 ? 96 : 176, scrollTop },
      ...{ lanes, labels, scale, view, seq, cursor, now: end, marks: model.marks },
      ...{ selected, hovered: hovered.current, colours, font, mono },
    };
  }, [lanes, labels, scale, view, seq, cursor, end, model, selected, theme]);

  const drawn = useRef(0);
  const draw = useCallback(() => {
    cancelAnimationFrame(drawn.current);
    drawn.current = requestAnimationFrame(() => {
      const target = canvas.current;
      if (target === null || box.current === null) return;
      const now = scene();
      const ratio = window.devicePixelRatio || 1;
      const [width, height] = [Math.round(now.width * ratio), Math.round(now.height * ratio)];
      if (target.width !== width || target.height !== height) {
        target.width = width;
        target.height = height;
        target.style.width = `${now.width}px`;
        target.style.height = `${now.height}px`;
      }
      const context = target.getContext("2d")!;
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      paint(context, now);
    });
  }, [scene]);
  useLayoutEffect(draw);
  useEffect(() => {
    const observer = new ResizeObserver(draw);
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, [draw]);

  useLayoutEffect(() => {
    const at = lanes.findIndex(({ calls }) => calls.some(({ call }) => call.key === selected));
    if (at < 0) return;
    const { scrollTop, clientHeight } = box.current!;
    const top = at * laneHeight;
    const room = clientHeight - axisHeight - laneHeight;
    if (top < scrollTop || top > scrollTop + room) box.current!.scrollTop = Math.max(0, top - room / 2);
    if (zoom === undefined) return;
    const placed = lanes[at]!.calls.find(({ call }) => call.key === selected)!;
    const from = scale.position(placed.start);
    const length = zoom[1] - zoom[0];
    if (from < zoom[0] || from > zoom[1]) setZoom([from - length / 2, from + length / 2]);
  }, [selected]);

  const zoomBy = useCallback(
    (factor: number, around = (view[0] + view[1]) / 2) => {
      const length = Math.max((view[1] - view[0]) * factor, narrowest);
      if (length >= scale.length * 1.03) return setZoom(undefined);
      const from = around - ((around - view[0]) / (view[1] - view[0])) * length;
      setZoom(within([from, from + length], scale.length));
    },
    [view, scale],
  );
  const panBy = useCallback(
    (pixels: number) => {
      if (zoom === undefined) return;
      const { width, labelWidth } = scene();
      const by = (pixels / (width - labelWidth)) * (zoom[1] - zoom[0]);
      setZoom(within([zoom[0] + by, zoom[1] + by], scale.length));
    },
    [zoom, scene, scale],
  );
  useEffect(() => {
    const target = box.current!;
    const wheel = (event: WheelEvent): void => {
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        const { left } = target.getBoundingClientRect();
        const around = scale.position(timeAt(scene(), event.clientX - left));
        zoomBy(1.0025 ** event.deltaY, around);
      } else if (zoom !== undefined && (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))) {
        event.preventDefault();
        panBy(event.shiftKey ? event.deltaX || event.deltaY : event.deltaX);
      }
    };
    target.addEventListener("wheel", wheel, { passive: false });
    return () => target.removeEventListener("wheel", wheel);
  }, [scene, scale, zoom, zoomBy, panBy]);

  const dragged = useRef<{ x: number; moved: boolean } | undefined>(undefined);
  const found = (event: TargetedMouseEvent<HTMLElement>): { call?: Call; mark?: Mark; x: number; y: number } => {
    const { left, top } = box.current!.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    return { ...at(scene(), x, y), x, y };
  };
  const hover = (event: TargetedMouseEvent<HTMLElement>): void => {
    const { call, mark, x, y } = found(event);
    const before = hovered.current;
    hovered.current = call?.key;
    box.current!.style.cursor = call === undefined ? "" : "pointer";
    if (before !== hovered.current) draw();
    const lines = call !== undefined ? linesOf(call, seq, end) : mark !== undefined ? [mark.text] : undefined;
    setTip(lines && { x, y, lines });
  };
  const known = lanes.reduce((sum, { calls }) => sum + calls.length, 0);
  const call = selected === undefined ? undefined : model.calls.get(selected);
  return (
    <section class="timeline" aria-label="Timeline">
      <div class="bar-row">
        <h2>Timeline</h2>
        <ul class="legend" aria-hidden="true">
          {(["step", "wait", "timer", "child", "publish", "value"] as const).map((kind) => (
            <li key={kind}>
              <KindSign kind={kind} status="done" />
              {kindWords[kind].toLowerCase()}
            </li>
          ))}
        </ul>
        <div class="tools">
          <button
            type="button"
            class="tool"
            aria-pressed={folding}
            title="Fold time in which no step ran"
            aria-label="Fold idle time"
            onClick={() => {
              setZoom(undefined);
              setFolding(!folding);
            }}
          >
            <Drawing of="fold" />
          </button>
          <button type="button" class="tool" title="Zoom out (−)" aria-label="Zoom out" onClick={() => zoomBy(1.6)}>
            <Drawing of="minus" />
          </button>
          <button type="button" class="tool" title="Zoom in (+)" aria-label="Zoom in" onClick={() => zoomBy(1 / 1.6)}>
            <Drawing of="plus" />
          </button>
          <button
            type="button"
            class="tool"
            title="Show all (0)"
            aria-label="Show all"
            onClick={() => setZoom(undefined)}
          >
            <Drawing of="fit" />
          </button>
        </div>
      </div>
      <div
        ref={box}
        class="timeline-box"
        role="application"
        aria-roledescription="timeline"
        aria-label={`Timeline: ${known} calls in ${lanes.length} lanes. Arrow keys go from call to call.`}
        tabIndex={0}
        onScroll={draw}
        onKeyDown={(event) => {
          if (event.ctrlKey || event.metaKey || event.altKey) return;
          const keys: Record<string, () => void> = {
            "+": () => zoomBy(1 / 1.6),
            "=": () => zoomBy(1 / 1.6),
            "-": () => zoomBy(1.6),
            "0": () => setZoom(undefined),
            Enter: onOpen,
          };
          const does = keys[event.key];
          if (does !== undefined) {
            event.preventDefault();
            return does();
          }
          const next = neighbour(lanes, selected, event.key, seq);
          if (next === undefined) return;
          event.preventDefault();
          onSelect(next);
        }}
        onPointerDown={(event) => {
          dragged.current = { x: event.clientX, moved: false };
        }}
        onPointerMove={(event) => {
          const drag = dragged.current;
          if (drag !== undefined && event.buttons === 1 && zoom !== undefined && event.pointerType === "mouse") {
            if (Math.abs(event.clientX - drag.x) > 3) drag.moved = true;
            if (drag.moved) {
              panBy(drag.x - event.clientX);
              drag.x = event.clientX;
            }
          } else hover(event);
        }}
        onPointerLeave={() => {
          hovered.current = undefined;
          setTip(undefined);
          draw();
        }}
        onClick={(event) => {
          if (dragged.current?.moved) return;
          const { call: clicked } = found(event);
          if (clicked !== undefined) onSelect(clicked.key);
        }}
      >
        <div class="timeline-all" style={{ height: `${axisHeight + lanes.length * laneHeight + 8}px` }}>
          <canvas ref={canvas} />
        </div>
      </div>
      {tip && (
        <div
          class="tip"
          aria-hidden="true"
          style={{
            left: `${Math.max(8, Math.min(tip.x + 14, (box.current?.clientWidth ?? 0) - 270))}px`,
            top: `${tip.y + 58}px`,
          }}
        >
          {tip.lines.map((line, index) => (
            <bdi key={line} class={index === 0 ? "tip-head" : ""}>
              {line}
            </bdi>
          ))}
        </div>
      )}
      <p class="unseen" aria-live="polite">
        {call && linesOf(call, seq, end).join(", ")}
      </p>
    </section>
  );
}

function within([from, to]: readonly [number, number], length: number): readonly [number, number] {
  const margin = (to - from) * 0.1;
  const by = Math.min(0, length + margin - to) + Math.max(0, -margin - from);
  return [from + by, to + by];
}

function* busyTimes(model: Model): Generator<readonly [number, number]> {
  for (const row of model.rows) {
    if (row.kind === "step" && row.state !== "attempt") yield [row.start, Math.max(row.start, row.end)];
    else if (row.state === "open" || row.state === "attempt") yield [row.start, row.start];
    else yield [row.end, row.end];
  }
}

/** A scope's name: its path below the workflow. */
export function labelOf({ scope }: Lane): string {
  const labels: string[] = [];
  for (let node = scope; node.parent !== undefined; node = node.parent) labels.unshift(node.label);
  if (labels.length === 0) return scope.label;
  return labels.reduce((path, label) => (label.startsWith("[") ? path + label : `${path} › ${label}`));
}

function linesOf(call: Call, seq: number, now: number): string[] {
  const status = statusAt(call, seq);
  if (status === undefined) return [call.node.label, "not yet known"];
  const rows = rowsAt(call, seq);
  const [first, last] = [rows[0]!, rows.at(-1)!];
  const isOver = last.state === "done" || last.state === "failed";
  const took = (isOver ? last.end : now) - first.start;
  const moment = takesNoTime(call.kind);
  return [labelText(call), `${call.kind} · ${statusWords(call.kind, status)}${moment ? "" : ` · ${duration(took)}`}`];
}

function labelText({ node }: Call): string {
  return node.parent === undefined || !node.label.startsWith("[") ? node.label : `${node.parent.label}${node.label}`;
}

/** What is at a point. */
function at(scene: Scene, x: number, y: number): { call?: Call; mark?: Mark } {
  const { lanes, labelWidth, scrollTop, seq, now, marks } = scene;
  if (x < labelWidth || y < 0) return {};
  const lane = y < axisHeight ? undefined : lanes[Math.floor((y - axisHeight + scrollTop) / laneHeight)];
  const near = 4;
  if (lane !== undefined) {
    let best: { placed: Placed; distance: number } | undefined;
    for (let index = firstIn(lane.calls, timeAt(scene, x - near)); index < lane.calls.length; index++) {
      const placed = lane.calls[index]!;
      const [from, to] = [xOf(scene, placed.start), xOf(scene, Math.min(placed.end, now))];
      if (from > x + near) break;
      if (rowsAt(placed.call, seq).length === 0) continue;
      const distance = x < from ? from - x : x > to ? x - to : 0;
      if (distance <= near && (best === undefined || distance < best.distance)) best = { placed, distance };
      if (distance === 0) break;
    }
    if (best !== undefined) return { call: best.placed.call };
  }
  const mark = marks.find(({ time, seq: since }) => since <= seq && Math.abs(xOf(scene, time) + 3 - x) < 6);
  return mark === undefined ? {} : { mark };
}

/** The call that an arrow key leads to. */
function neighbour(lanes: readonly Lane[], selected: string | undefined, key: string, seq: number): string | undefined {
  if (!/^(Arrow(Left|Right|Up|Down)|Home|End)$/.test(key)) return undefined;
  const isThere = ({ call }: Placed): boolean => rowsAt(call, seq).length > 0;
  const lane = lanes.findIndex(({ calls }) => calls.some(({ call }) => call.key === selected));
  const at = lanes[lane]?.calls.findIndex(({ call }) => call.key === selected) ?? -1;
  if (lane < 0 || key === "Home") return lanes[0]?.calls.find(isThere)?.call.key;
  if (key === "End") return lanes.at(-1)?.calls.findLast(isThere)?.call.key;
  if (key === "ArrowLeft") return lanes[lane]!.calls.slice(0, at).findLast(isThere)?.call.key;
  if (key === "ArrowRight") return lanes[lane]!.calls.slice(at + 1).find(isThere)?.call.key;
  const { start } = lanes[lane]!.calls[at]!;
  const next = lanes[lane + (key === "ArrowUp" ? -1 : 1)]?.calls.filter(isThere) ?? [];
  let nearest: Placed | undefined;
  for (const placed of next)
    if (nearest === undefined || Math.abs(placed.start - start) < Math.abs(nearest.start - start)) nearest = placed;
  return nearest?.call.key;
}

function stylesOf(element: HTMLElement): { colours: Colours; font: string; mono: string } {
  const style = getComputedStyle(element);
  const read = (name: string): string => style.getPropertyValue(name).trim();
  const colours = Object.fromEntries(colourNames.map((name) => [name, read(`--${name}`)])) as Record<
    ColourName,
    string
  >;
  return { colours, font: read("--font"), mono: read("--mono") };
}

/** Generated code, as far as it holds nothing of the source: both appliers write it alike. */
import type { CallEdit, CaptureGroup, FrameRef, LoopEdit, Path } from "./plan/shape.js";

/** `$1`, `$s()` or `$1.enter(4, [$c1])`. */
export function frameText(frame: FrameRef): string {
  if (frame.kind === "enter") return enterText(frame);
  return frame.kind === "root" ? `${frame.name}()` : frame.name;
}

/** `$1.enter(4, [$c1])`. */
export function enterText({ outer, row, path }: { outer: FrameRef; row: number; path: Path }): string {
  return `${frameText(outer)}.enter(${row}, ${pathText(path)})`;
}

/** What a call is given before its own arguments: `4, [$c1]`, or for a site `$1, 4, [$c1], 0`. */
export function placeText(edit: CallEdit): string {
  const place = `${edit.row}, ${pathText(edit.path)}`;
  return edit.kind === "site" ? `${frameText(edit.frame)}, ${place}, ${capturesText(edit.captures)}` : place;
}

/** `++$i1` or `$1.itemKey($k1, ++$i1)`, the value of an iteration's constant. */
export function iterationText({ counter, keyed }: LoopEdit): string {
  return keyed === undefined ? `++${counter}` : `${frameText(keyed.frame)}.itemKey(${keyed.name}, ++${counter})`;
}

/** `0` or `[$c1, $c2 - 1]`. */
function pathText(path: Path): string {
  if (path.length === 0) return "0";
  return `[${path.map(({ constant, previous }) => (previous ? `${constant} - 1` : constant)).join(", ")}]`;
}

/** `0` or `() => [[$1, a, b], [$2, c]]`. */
function capturesText(groups: readonly CaptureGroup[]): string {
  if (groups.length === 0) return "0";
  return `() => [${groups.map(({ frame, names }) => `[${[frameText(frame), ...names].join(", ")}]`).join(", ")}]`;
}

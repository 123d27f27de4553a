/** Text of the small expressions that a plan speaks of. */
import type { CallEdit, CaptureGroup, FrameRef, Path, Self } from "../plan/shape.js";

/** `$1`, `$s()` or `$1.enter(4, [$c1])`. */
export function frameText(frame: FrameRef): string {
  if (frame.kind === "enter") return enterText(frame);
  return frame.kind === "root" ? `${frame.name}()` : frame.name;
}

/** `$1.enter(4, [$c1])`. */
export function enterText({ outer, row, path }: { outer: FrameRef; row: number; path: Path }): string {
  return `${frameText(outer)}.enter(${row}, ${pathText(path)})`;
}

/** `0` or `[$c1, $c2 - 1]`. */
export function pathText(path: Path): string {
  if (path.length === 0) return "0";
  return `[${path.map(({ constant, previous }) => (previous ? `${constant} - 1` : constant)).join(", ")}]`;
}

/** `0` or `() => [[$1, a, b], [$2, c]]`. */
export function capturesText(groups: readonly CaptureGroup[]): string {
  if (groups.length === 0) return "0";
  return `() => [${groups.map(({ frame, names }) => `[${[frameText(frame), ...names].join(", ")}]`).join(", ")}]`;
}

/** `$1.call(4, [$c1],` */
export function callText({ frame, row, path }: CallEdit, method: "call" | "new"): string {
  return `${frameText(frame)}.${method}(${row}, ${pathText(path)},`;
}

/** What a marked call passes as `this`. */
export function selfText(self: Self): string {
  if (self.kind === "none") return "void 0";
  return self.kind === "this" ? "this" : self.name;
}

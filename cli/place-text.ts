/** Places and moves in words, for people. */
import type { Doubt } from "../transformer/lock/doubts.js";
import { type LockLine, splitContainer } from "../transformer/lock/lock-line.js";
import type { Move } from "../transformer/lock/reconcile.js";
import type { SourcePlace } from "../transformer/lock/source-file.js";

/** `charge in fulfil() > map()`. */
export function nameOf({ container, anchor }: Pick<LockLine, "container" | "anchor">): string {
  const around = splitContainer(container).join(" > ");
  return around === "" ? anchor : `${anchor} in ${around}`;
}

export function whereIs({ path, line }: SourcePlace): string {
  return `${path}:${line}`;
}

/** What has become of a place that the lock file knows. */
export function moveText({ line, place, route }: Move): string {
  const before = line.path === place.path ? nameOf(line) : `${nameOf(line)} (${line.path})`;
  const changes = [
    ...(line.anchor === place.anchor ? [] : ["another name"]),
    ...(line.path === place.path ? [] : ["another file"]),
    ...(line.path === place.path && line.container !== place.container ? ["another function"] : []),
    ...(line.text === place.text || place.kind === "function" ? [] : ["another text"]),
    ...(route === undefined || route.under.length + route.through.size === 0 ? [] : ["reached by other calls"]),
  ];
  return `${whereIs(place)}  ${nameOf(place)}  was ${before}${changes.length === 0 ? "" : `: ${changes.join(", ")}`}\n    ${place.excerpt()}`;
}

export function goneText(line: LockLine): string {
  return `gone      ${line.path}  ${nameOf(line)}`;
}

/** What may have become of a place that is gone. */
export function doubtText({ line, place }: Pick<Doubt, "line"> & Partial<Doubt>): string {
  if (place === undefined) return `${line.path}  ${nameOf(line)}  is gone`;
  return `${line.path}  ${nameOf(line)}  is gone, and this may do its work: ${whereIs(place)}  ${nameOf(place)}\n    ${place.excerpt()}`;
}

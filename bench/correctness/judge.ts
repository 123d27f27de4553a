/** What came out, from the output and the ledger alone. */
import { isDeepStrictEqual } from "node:util";
import type { Case } from "./scenarios.js";
import type { Line } from "./stage.js";

export type Verdict = "right" | "wrong" | "refused" | "held" | "stuck" | "not run";

export interface Outcome {
  verdict: Verdict;
  /** Why, in a line. */
  reason?: string;
}

/** How the last life ended. */
export type Ending =
  | { kind: "value"; value: unknown }
  | { kind: "error"; message: string }
  | { kind: "held"; message: string }
  | { kind: "late"; milliseconds: number };

export function judge(ending: Ending, lines: readonly Line[], { value, bodies, free = [] }: Case): Outcome {
  const fault = faultOf(
    lines.filter(({ body }) => !free.includes(body)),
    bodies,
  );
  const wrongValue = ending.kind === "value" && !isDeepStrictEqual(ending.value, value);
  // Whatever it says in the end: it has done recorded work again.
  if (fault?.startsWith("ran") && !wrongValue) return { verdict: "wrong", reason: fault };
  switch (ending.kind) {
    case "error":
      return { verdict: "refused", reason: ending.message };
    case "held":
      return { verdict: "held", reason: ending.message };
    case "late":
      return { verdict: "stuck", reason: `not ended after ${ending.milliseconds / 1_000} s, without an error` };
    case "value":
      if (wrongValue) {
        return { verdict: "wrong", reason: `${JSON.stringify(ending.value)} instead of ${JSON.stringify(value)}` };
      }
      return fault === undefined ? { verdict: "right" } : { verdict: "wrong", reason: fault };
  }
}

function faultOf(lines: readonly Line[], bodies: readonly string[]): string | undefined {
  const ends = new Map<string, number>();
  for (const { what, body } of lines) if (what === "end") ends.set(body, (ends.get(body) ?? 0) + 1);
  for (const [body, times] of ends) {
    if (!bodies.includes(body)) return `ran "${body}", which is not due`;
    if (times > 1) return `ran "${body}" again, which was recorded`;
  }
  const missing = bodies.filter((body) => !ends.has(body));
  return missing.length === 0 ? undefined : `never ran "${missing[0]}"`;
}

const severity: readonly Verdict[] = ["right", "not run", "held", "refused", "stuck", "wrong"];

/** The worst of several. */
export function worst(outcomes: readonly Outcome[]): Outcome {
  return outcomes.reduce((a, b) => (severity.indexOf(b.verdict) > severity.indexOf(a.verdict) ? b : a));
}

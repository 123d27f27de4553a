/** How loud each diagnostic is, as the `diagnostics` option says. */
import { type DiagnosticCode, isCode, type Kind, kinds } from "./table.js";

export type DiagnosticLevel = "off" | "warn" | "error";

/** One level for all, or levels by code beside a `default`: `{ "default": "error", "STEPMARK3001": "off" }`. */
export type DiagnosticsOption =
  | DiagnosticLevel
  | (Partial<Record<DiagnosticCode, DiagnosticLevel>> & { default?: DiagnosticLevel });

const levels: readonly unknown[] = ["off", "warn", "error"] satisfies DiagnosticLevel[];

/** The level of a code; quiet ones have to be asked for. */
export function levelOf(option: DiagnosticsOption = "warn", code: DiagnosticCode): DiagnosticLevel {
  const given = typeof option === "string" ? undefined : option[code];
  if (given !== undefined) return given;
  const kind: Kind = kinds[code];
  if (kind.quiet) return "off";
  return (typeof option === "string" ? option : option.default) ?? "warn";
}

/** Whether nothing can be reported at all. */
export function isOff(option: DiagnosticsOption | undefined): boolean {
  if (option === undefined || typeof option === "string") return option === "off";
  const { default: rest = "warn", ...codes } = option;
  return rest === "off" && Object.values(codes).every((level) => level === "off");
}

/** What is wrong with the value of the option; undefined if nothing is. */
export function faultOf(option: unknown): string | undefined {
  if (option === undefined || levels.includes(option)) return undefined;
  if (typeof option !== "object" || option === null || Array.isArray(option)) {
    return `"diagnostics" has to be "off", "warn", "error", or an object of these by code, not ${JSON.stringify(option)}`;
  }
  for (const [code, level] of Object.entries(option)) {
    if (code !== "default" && !isCode(code)) return `"diagnostics" names ${JSON.stringify(code)}, which is no code`;
    if (!levels.includes(level)) {
      return `"diagnostics" gives ${code} the level ${JSON.stringify(level)}; levels are "off", "warn" and "error"`;
    }
  }
  return undefined;
}

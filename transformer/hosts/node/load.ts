/** What becomes of a module that Node loads, whichever of Node's ways leads to it. */
import process from "node:process";
import { type Diagnostic, formatDiagnostic } from "../../transform-text.js";
import { hostTransform } from "../host-transform.js";
import { throughEarlierMap } from "../joined-maps.js";
import type { Project } from "./project-options.js";

export type Source = string | ArrayBuffer | NodeJS.TypedArray;

export interface Loaded {
  format?: string | null;
  source?: Source | null;
}

/** Formats whose text is no program. */
const otherFormats = new Set(["json", "wasm", "builtin", "addon"]);

/** A transform that answers code with its map behind it, which Node reads under `--enable-source-maps`, and so do debuggers. */
export function nodeTransform({ options, folder, where }: Project): (code: string, id: string) => string | undefined {
  const transform = hostTransform(options, folder, where);
  return (code, id) => {
    const transformed = transform(code, id, report);
    if (transformed === undefined) return undefined;
    const { code: text, map } = throughEarlierMap(transformed, id);
    return `${text}\n//# sourceMappingURL=${map.toUrl()}`;
  };
}

/** As a warning of the process: `--disable-warning=STEPMARK2001` silences it. */
function report(diagnostic: Diagnostic): void {
  const text = formatDiagnostic(diagnostic);
  if (diagnostic.category === "error") throw new SyntaxError(text);
  process.emitWarning(text, { type: "StepmarkWarning", code: diagnostic.code });
}

/** The module with its text transformed; as it is where there is nothing to do. */
export function transformLoaded<L extends Loaded>(
  loaded: L,
  id: string,
  transform: (code: string, id: string) => string | undefined,
): L {
  // Node reads a CommonJS module later, when it has no source here.
  if (loaded.source === undefined || loaded.source === null || otherFormats.has(loaded.format ?? "")) return loaded;
  const source = transform(textOf(loaded.source), id);
  return source === undefined ? loaded : { ...loaded, source };
}

function textOf(source: Source): string {
  return typeof source === "string" ? source : new TextDecoder("utf-8", { ignoreBOM: true }).decode(source);
}

/** Node's own error for a file that it cannot load, with the cure if it is TypeScript. */
export function explain(error: unknown, id: string): unknown {
  if ((error as { code?: unknown } | null)?.code !== "ERR_UNKNOWN_FILE_EXTENSION") return error;
  if (!/\.[cm]?tsx?(?:[?#]|$)/.test(id)) return error;
  return new TypeError(
    `stepmark/register: Node ${process.versions.node} cannot run ${id}, since it does not strip types from such a file. ` +
      "Use Node 22.18 or later (without JSX), put `--import tsx` behind stepmark/register, or build first: with tspc, a bundler, or `stepmark transform`.",
    { cause: error },
  );
}

/** The compilers that the transformer works in. */
import { TransformerOptionsError } from "./errors.js";
import type { TypeScript } from "./plan/syntax.js";

/**
 * TypeScript 7 has no transformers: what a tool hands over as `ts` under it has no factory, and answers nothing but its version.
 *
 * @throws TransformerOptionsError that names the hosts to use instead
 */
export function checkCompiler(ts: TypeScript | undefined): void {
  const { version = "" } = ts ?? {};
  const major = Number.parseInt(version, 10);
  if (ts?.factory !== undefined && !(major >= 7)) return;
  throw new TransformerOptionsError(
    `stepmark/transformer needs the transformer API of TypeScript 5 or 6, which ${version === "" ? "this compiler" : `TypeScript ${version}`} does not have`,
    "Depend on `typescript@6` for a build with `tspc`; or use a host that takes text, which goes with every TypeScript: stepmark/vite, /rollup, /rolldown, /webpack, /rspack, /esbuild, /register or `npx stepmark transform`.",
  );
}

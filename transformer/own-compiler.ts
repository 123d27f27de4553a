/**
 * The TypeScript that comes with the package: for hosts that hand over text, and for the command line. The compiler's own
 * plugin gets its TypeScript from the compiler.
 */
import { createRequire } from "node:module";
import type typescript from "typescript";

/** By `require`: an `import` has Node read these nine megabytes twice more, for the names that they export. */
export const ts: typeof typescript = createRequire(import.meta.url)("typescript");

/** The programs that one test makes: in strict and in sloppy code, as it stands and with its code in a function. */
import type { TestFile } from "./suite.js";

export interface Variant {
  readonly name: string;
  readonly code: string;
}

/** At its top a script has no marked calls, and a test's code stands there: so each is run in a function as well. */
export function variantsOf({ source, flags }: TestFile): Variant[] {
  if (flags.has("raw") || flags.has("module")) return [{ name: flags.has("raw") ? "raw" : "module", code: source }];
  const modes = [
    ...(flags.has("onlyStrict") ? [] : [{ name: "sloppy", before: "" }]),
    ...(flags.has("noStrict") ? [] : [{ name: "strict", before: '"use strict";\n' }]),
  ];
  return [
    ...modes.slice(0, 1).map(({ name, before }) => ({ name, code: before + source })),
    ...modes.map(({ name, before }) => ({
      name: `${name}, in a function`,
      code: `(function () { ${before}${source}\n}).call(this);`,
    })),
  ];
}

/** Vite plugin for our own tests: applies the text applier to every file that imports the library; Vite strips the types. */
import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";
import { fileOf, transformText } from "../../transformer/transform-text.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

export function stepmarkPlugin(): Plugin {
  return {
    name: "stepmark-test",
    enforce: "pre",
    transform(code, id) {
      const file = fileOf(id);
      if (file === undefined || !/\.[cm]?tsx?$/.test(file) || file.includes("/node_modules/")) return null;
      if (file.startsWith(`${root}runtime/`) || file.startsWith(`${root}transformer/`)) return null;
      return transformText(code, { file, root }) ?? null;
    },
  };
}

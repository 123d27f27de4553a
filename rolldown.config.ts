/**
 * What the package ships: a file for each of its entries, and what they share in a few more. As two hundred files, one a module, the
 * library would take three times as long to load.
 */
import { existsSync, readFileSync } from "node:fs";
import { isAbsolute } from "node:path";
import { defineConfig, type Plugin } from "rolldown";

interface Manifest {
  exports: Record<string, string | { default: string }>;
  bin: Record<string, string>;
}

/** Loaded by their path, not by a name that the package exports. */
const byPath = ["transformer/editor.js", "transformer/hosts/node/async-hooks.js", "inspector/server.js"];

/** Small packages that the library needs in order to load at all: they are part of it, and not installed. */
const included = ["devalue", "ms"];

export default defineConfig({
  input: Object.fromEntries(entries().map((file) => [file.replace(/\.js$/, ""), file.replace(/\.js$/, ".ts")])),
  platform: "node",
  tsconfig: "tsconfig.build.json",
  external: (id) => !id.startsWith(".") && !isAbsolute(id) && !included.includes(id),
  plugins: [licenses()],
  output: {
    dir: "dist",
    cleanDir: true,
    format: "esm",
    sourcemap: true,
    comments: { jsdoc: false },
    minifyInternalExports: false,
    entryFileNames: "[name].js",
    chunkFileNames: "chunks/[name].js",
    codeSplitting: {
      groups: [
        // The one thing that the compiler's half has of the runtime.
        { name: "site-table", test: /runtime[\\/]scope[\\/]site-table\.ts$/, priority: 1 },
        // And all that it imports: whoever loads one of the runtime's entries loads the library itself.
        { name: "runtime", test: /runtime[\\/]index\.ts$/ },
      ],
    },
  },
});

/** Paths in `dist`. */
function entries(): string[] {
  const { exports, bin } = JSON.parse(readFileSync("package.json", "utf8")) as Manifest;
  const published = [...Object.values(exports), ...Object.values(bin)]
    .map((each) => (typeof each === "string" ? each : each.default))
    .filter((file) => file.endsWith(".js"))
    .map((file) => file.replace(/^(\.\/)?dist\//, ""));
  return [...published, ...byPath];
}

/** What the authors of the packages that are included ask for. */
function licenses(): Plugin {
  return {
    name: "licenses",
    generateBundle() {
      const texts = included.map((name) => {
        const file = ["LICENSE", "license.md"].map((each) => `node_modules/${name}/${each}`).find(existsSync)!;
        return `${name}\n\n${readFileSync(file, "utf8").trim()}\n`;
      });
      this.emitFile({ type: "asset", fileName: "chunks/licenses.txt", source: texts.join("\n\n") });
    },
  };
}

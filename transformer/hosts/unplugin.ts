/** The plugin that all bundlers share. */
import { createHash } from "node:crypto";
import process from "node:process";
import { createUnplugin, type UnpluginContextMeta } from "unplugin";
import { formatDiagnostic } from "../transform-text.js";
import { version } from "../version.js";
import { type HostOptions, type HostTransform, hostTransform, projectFolder, scriptId } from "./host-transform.js";
import { throughEarlierMap } from "./joined-maps.js";
import { checkingLoader } from "./types-checked.js";

export type { HostOptions } from "./host-transform.js";

/** One property a bundler. */
export const plugin = createUnplugin<HostOptions | undefined, false>((options = {}, meta) => {
  const belowProject = (project: string): HostTransform =>
    hostTransform(options, project, `stepmark's options (${meta.framework})`);
  let transform = belowProject(projectFolder(process.cwd()));
  const hook = {
    filter: { id: scriptId, code: options.include === undefined ? mayMention : undefined },
    handler(this: Context, code: string, id: string) {
      const transformed = transform(code, id, (diagnostic) => {
        if (diagnostic.category === "error") this.error(formatDiagnostic(diagnostic));
        else this.warn(formatDiagnostic(diagnostic));
      });
      if (transformed?.lock !== undefined) this.addWatchFile(transformed.lock);
      if (transformed === undefined) return undefined;
      const checker = checkingLoader(this.getNativeBuildContext?.());
      if (checker) this.warn(`${checker.what}. ${checker.cure}`);
      // The others are told of it by who loads the file, and join the maps themselves.
      const { code: text, map } = meta.framework === "esbuild" ? throughEarlierMap(transformed, id) : transformed;
      return { code: text, map };
    },
  };
  return {
    name: nameFor(meta, options),
    enforce: "pre",
    transform: hook,
    // They know no `enforce`: this puts the plugin before those that compile, wherever it stands in the list.
    rollup: { transform: { ...hook, order: "pre" } },
    rolldown: { transform: { ...hook, order: "pre" } },
    vite: {
      configResolved: ({ root }) => {
        transform = belowProject(root);
      },
    },
    webpack: ({ context }) => {
      transform = belowProject(context);
    },
    rspack: ({ context }) => {
      transform = belowProject(context);
    },
    esbuild: {
      onLoadFilter: scriptId,
      // What the user has configured for the extension.
      loader: "default",
      config: ({ absWorkingDir }) => {
        if (absWorkingDir !== undefined) transform = belowProject(projectFolder(absWorkingDir));
      },
    },
  };
});

/** What is used of what a bundler offers to a plugin. */
interface Context {
  warn(message: string): void;
  error(message: string): void;
  addWatchFile(file: string): void;
  /** webpack's and Rspack's own. */
  getNativeBuildContext?(): object | null;
}

/** What a text has to hold to import the library: its name, which may be spelt with escapes. */
const mayMention = /stepmark|\\/;

/** webpack's and Rspack's caches know a loader by this name, which therefore stands for all that its output depends on. */
function nameFor({ framework }: UnpluginContextMeta, options: HostOptions): string {
  if (framework !== "webpack" && framework !== "rspack") return "stepmark";
  const digest = createHash("sha256")
    .update(JSON.stringify([version(), options]))
    .digest("hex");
  return `stepmark-${digest.slice(0, 8)}`;
}

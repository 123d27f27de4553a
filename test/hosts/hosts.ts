/** How each host builds the fixtures: its own API, as a user's configuration calls it. */
import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import type { RspackOptions } from "@rspack/core";
import * as esbuild from "esbuild";
import type { OutputOptions, Plugin } from "rollup";
import type { Configuration } from "webpack";
import esbuildPlugin from "../../transformer/hosts/esbuild.js";
import rolldownPlugin from "../../transformer/hosts/rolldown.js";
import rollupPlugin from "../../transformer/hosts/rollup.js";
import rspackPlugin from "../../transformer/hosts/rspack.js";
import vitePlugin from "../../transformer/hosts/vite.js";
import webpackPlugin from "../../transformer/hosts/webpack.js";
import { type Language, link, type Project, repository } from "./project.js";

export const run = promisify(execFile);
const require = createRequire(import.meta.url);

export interface Setting {
  format: "esm" | "cjs";
  target: "es2017" | "esnext";
  minify: boolean;
  /** Whether the host is started in the folder above the project, and told where that is. */
  elsewhere: boolean;
}

/** Builds the fixtures, or says how Node is to run them as they are. */
export interface Host {
  name: string;
  version: string;
  /** What is run with this host, for the table. */
  what: string;
  languages: Language[];
  /** Fixtures that are beyond it, each with the reason. */
  without(setting: Setting): Readonly<Record<string, string>>;
  settings: Setting[];
  /** Whether nothing is written that could have a map. */
  inMemory?: boolean;
  build(project: Project, setting: Setting, out: string): Promise<Built>;
}

export interface Built {
  /** Absolute path of what each fixture's entry has become. */
  entries: Record<string, string>;
  /** The Node to run it with, and its flags. */
  node?: string;
  flags?: string[];
  cwd?: string;
}

const formats = ["esm", "cjs"] as const;
const targets = ["es2017", "esnext"] as const;
const both = [false, true];

/** Formats and targets, minified or not; every other one from another folder. */
const allSettings: Setting[] = formats.flatMap((format) =>
  targets.flatMap((target) =>
    both.map((minify, index) => ({ format, target, minify, elsewhere: (index === 0) === (target === "es2017") })),
  ),
);

const options = { include: ["src/files/included.ts", "src/files/included.js"] };
const external = ["stepmark"];

/** File names of outputs: one for each fixture. */
const nameOf = (fixture: string): string => fixture.replace(" ", "-");

function inputsOf({ folder, entries }: Project): Record<string, string> {
  return Object.fromEntries(Object.entries(entries).map(([name, file]) => [nameOf(name), path.join(folder, file)]));
}

function builtBelow(out: string, { entries }: Project, extension: string): Built {
  const built = Object.keys(entries).map((name) => [name, path.join(out, `${nameOf(name)}${extension}`)]);
  return { entries: Object.fromEntries(built) };
}

const extensionOf = ({ format }: Setting): string => (format === "esm" ? ".mjs" : ".cjs");

/** Hosts that have no word for the project's folder start in it: one at a time, since a process has one folder. */
async function inFolder<T>(folder: string, task: () => Promise<T>): Promise<T> {
  const before = process.cwd();
  process.chdir(folder);
  try {
    return await task();
  } finally {
    process.chdir(before);
  }
}

/** Away from the project, its folder has to be given as the root. */
function startOf(
  { folder }: Project,
  { elsewhere }: Setting,
): { cwd: string; given: { root?: string; include: string[] } } {
  if (!elsewhere) return { cwd: folder, given: options };
  return { cwd: path.dirname(folder), given: { ...options, root: folder } };
}

const versionOf = (name: string): string => (require(`${name}/package.json`) as { version: string }).version;

/** esbuild writes `require` for what CommonJS code in an ES module requires from outside. */
const requireInModules =
  'import { createRequire as $$require } from "node:module"; const require = $$require(import.meta.url);';

const withEsbuild: Host = {
  name: "esbuild",
  version: versionOf("esbuild"),
  what: "build",
  languages: ["typescript", "javascript"],
  without: () => ({}),
  settings: allSettings,
  async build(project, setting, out) {
    const { cwd, given } = startOf(project, setting);
    await esbuild.build({
      absWorkingDir: cwd,
      entryPoints: inputsOf(project),
      outdir: out,
      outExtension: { ".js": extensionOf(setting) },
      bundle: true,
      platform: "node",
      format: setting.format,
      target: setting.target,
      minify: setting.minify,
      sourcemap: true,
      external,
      ...(setting.format === "esm" && { banner: { js: requireInModules } }),
      tsconfigRaw: { compilerOptions: { jsx: "react", jsxFactory: "h" } },
      logLevel: "silent",
      plugins: [esbuildPlugin(given)],
    });
    return builtBelow(out, project, extensionOf(setting));
  },
};

/** Rollup compiles nothing itself. */
function compileWithEsbuild({ target, minify }: Setting): Plugin {
  return {
    name: "compile",
    async transform(code: string, id: string) {
      const file = id.split("?")[0]!;
      if (!/\.tsx?$/.test(file)) return null;
      const loader = file.endsWith("x") ? "tsx" : "ts";
      return esbuild.transform(code, { loader, target, sourcemap: true, sourcefile: file, jsxFactory: "h" });
    },
    async renderChunk(code: string) {
      return minify ? esbuild.transform(code, { minify, sourcemap: true, target }) : null;
    },
    resolveId(id: string, importer?: string) {
      return id === "@fixtures/lib" && importer ? this.resolve(createRequire(importer).resolve(id)) : null;
    },
  };
}

const rollupHost = (first: boolean): Host => ({
  name: "Rollup",
  version: versionOf("rollup"),
  what: first ? "build" : "build, listed behind the plugin that compiles",
  languages: first ? ["typescript", "javascript"] : ["typescript"],
  without: () => ({ commonjs: "needs @rollup/plugin-commonjs" }),
  settings: first ? allSettings : allSettings.slice(0, 1),
  async build(project, setting, out) {
    const { cwd, given } = startOf(project, setting);
    const { rollup } = await import("rollup");
    const input = inputsOf(project);
    delete input.commonjs;
    const output: OutputOptions = {
      dir: out,
      format: setting.format,
      sourcemap: true,
      entryFileNames: `[name]${extensionOf(setting)}`,
      chunkFileNames: `[name]-[hash]${extensionOf(setting)}`,
    };
    await inFolder(cwd, async () => {
      const plugins = [rollupPlugin(given), compileWithEsbuild(setting)];
      const bundle = await rollup({
        input,
        external,
        plugins: first ? plugins : plugins.reverse(),
        onwarn() {},
      });
      await bundle.write(output);
      await bundle.close();
    });
    return builtBelow(out, project, extensionOf(setting));
  },
});

const rolldown: Host = {
  name: "Rolldown",
  version: versionOf("rolldown"),
  what: "build",
  languages: ["typescript", "javascript"],
  without: () => ({}),
  settings: allSettings,
  async build(project, setting, out) {
    const { cwd, given } = startOf(project, setting);
    const { rolldown: bundle } = await import("rolldown");
    await inFolder(cwd, async () => {
      const made = await bundle({
        cwd,
        input: inputsOf(project),
        external,
        platform: "node",
        plugins: [rolldownPlugin(given)],
        transform: { target: setting.target, jsx: { runtime: "classic", pragma: "h" } },
        logLevel: "silent",
      });
      await made.write({
        dir: out,
        format: setting.format,
        minify: setting.minify,
        sourcemap: true,
        entryFileNames: `[name]${extensionOf(setting)}`,
        chunkFileNames: `[name]-[hash]${extensionOf(setting)}`,
      });
      await made.close();
    });
    return builtBelow(out, project, extensionOf(setting));
  },
};

const viteBuild: Host = {
  name: "Vite",
  version: versionOf("vite"),
  what: "build (SSR)",
  languages: ["typescript", "javascript"],
  without: () => ({}),
  settings: allSettings,
  async build(project, setting, out) {
    const { build } = await import("vite");
    await build({
      root: project.folder,
      configFile: false,
      envFile: false,
      logLevel: "silent",
      plugins: [vitePlugin(options)],
      oxc: { jsx: { runtime: "classic", pragma: "h" } },
      build: {
        ssr: true,
        target: setting.target,
        minify: setting.minify,
        sourcemap: true,
        outDir: out,
        emptyOutDir: false,
        rollupOptions: {
          input: inputsOf(project),
          external,
          output: {
            format: setting.format,
            entryFileNames: `[name]${extensionOf(setting)}`,
            chunkFileNames: `[name]-[hash]${extensionOf(setting)}`,
          },
        },
      },
      ssr: { noExternal: ["@fixtures/lib"] },
    });
    return builtBelow(out, project, extensionOf(setting));
  },
};

/** The dev server's transform, executed by Vite's own module runner, as Vitest does. */
const viteDev: Host = {
  name: "Vite",
  version: versionOf("vite"),
  what: "dev server (SSR)",
  inMemory: true,
  languages: ["typescript"],
  without: () => ({ commonjs: "Vite's runner takes ES modules only" }),
  settings: [allSettings[0]!],
  async build(project, _setting, out) {
    mkdirSync(out, { recursive: true });
    const config = `
import { createServer, isRunnableDevEnvironment } from "vite";
import stepmark from "stepmark/vite";
const server = await createServer({
  root: ${JSON.stringify(project.folder)}, configFile: false, logLevel: "silent", appType: "custom",
  oxc: { jsx: { runtime: "classic", pragma: "h" } },
  server: { middlewareMode: true, ws: false, watch: null }, plugins: [stepmark(${JSON.stringify(options)})],
  ssr: { noExternal: ["@fixtures/lib"] },
});
export const load = (file) => server.environments.ssr.runner.import(file);
export const close = () => server.close();
`;
    writeFileSync(path.join(project.folder, "dev.mjs"), config);
    link(project.folder, "vite");
    const entries: Record<string, string> = {};
    for (const [name, file] of Object.entries(project.entries)) {
      entries[name] = path.join(out, `${nameOf(name)}.mjs`);
      writeFileSync(
        entries[name]!,
        `import { load } from ${JSON.stringify(path.join(project.folder, "dev.mjs"))};
const { flow, input } = await load(${JSON.stringify(`/${file}`)});
export { flow, input };`,
      );
    }
    return { entries };
  },
};

const webpackSetup = (project: Project, setting: Setting, out: string) => ({
  mode: setting.minify ? ("production" as const) : ("development" as const),
  context: project.folder,
  target: "node20",
  devtool: "source-map" as const,
  entry: inputsOf(project),
  resolve: { extensions: [".ts", ".tsx", ".js"] },
  output: {
    path: out,
    filename: `[name]${extensionOf(setting)}`,
    chunkFilename: `[name]${extensionOf(setting)}`,
    devtoolModuleFilenameTemplate: "[absolute-resource-path]",
    module: setting.format === "esm",
    library: { type: setting.format === "esm" ? ("module" as const) : ("commonjs2" as const) },
  },
  // A library that is an ES module is imported by what webpack makes of CommonJS as well.
  externals: { stepmark: setting.format === "esm" ? "module stepmark" : "commonjs2 stepmark" },
});

interface Compiler {
  run(done: (error: Error | null, stats?: { hasErrors(): boolean; toString(options: object): string }) => void): void;
  close(done: () => void): void;
}

function runCompiler(compiler: Compiler): Promise<void> {
  return new Promise((resolve, reject) => {
    compiler.run((error, stats) => {
      compiler.close(() => {
        if (error) reject(error);
        else if (stats?.hasErrors()) reject(new Error(stats.toString({ all: false, errors: true })));
        else resolve();
      });
    });
  });
}

const webpackHost: Host = {
  name: "webpack",
  version: versionOf("webpack"),
  what: "build, types stripped by a loader",
  languages: ["typescript", "javascript"],
  without: () => ({}),
  settings: allSettings,
  async build(project, setting, out) {
    const { default: webpack } = await import("webpack");
    const config: Configuration = {
      ...webpackSetup(project, setting, out),
      experiments: { outputModule: setting.format === "esm" },
      module: {
        rules: [
          {
            test: /\.tsx?$/,
            loader: path.join(repository, "test/hosts/esbuild-loader.mjs"),
            options: { target: setting.target },
          },
        ],
      },
      plugins: [webpackPlugin(options)],
    };
    await inFolder(path.dirname(project.folder), () => runCompiler(webpack(config) as unknown as Compiler));
    return builtBelow(out, project, extensionOf(setting));
  },
};

const rspackHost: Host = {
  name: "Rspack",
  version: versionOf("@rspack/core"),
  what: "build, types stripped by its SWC",
  languages: ["typescript", "javascript"],
  without: () => ({}),
  settings: allSettings,
  async build(project, setting, out) {
    const { rspack } = await import("@rspack/core");
    const config = {
      ...webpackSetup(project, setting, out),
      module: {
        rules: [
          {
            test: /\.tsx?$/,
            loader: "builtin:swc-loader",
            type: "javascript/auto",
            options: {
              jsc: {
                target: setting.target,
                parser: { syntax: "typescript" as const, tsx: true },
                transform: { react: { runtime: "classic" as const, pragma: "h" } },
              },
            },
          },
        ],
      },
      plugins: [rspackPlugin(options)],
    };
    await inFolder(path.dirname(project.folder), () =>
      runCompiler(rspack(config as RspackOptions) as unknown as Compiler),
    );
    return builtBelow(out, project, extensionOf(setting));
  },
};

const oldResolution = {
  moduleResolution: "Node10",
  paths: {
    stepmark: ["./node_modules/stepmark/dist/runtime/index.d.ts"],
    "@fixtures/lib": ["./packages/lib/src/index.ts"],
  },
};

const tspc = (patch: string, typescript: string): Host => ({
  name: `ts-patch ${versionOf(patch)}`,
  version: versionOf(typescript),
  what: "tspc",
  languages: ["typescript"],
  without: () => ({}),
  settings: allSettings.filter(({ minify }) => !minify),
  async build(project, { format, target, elsewhere }, out) {
    const { folder } = project;
    // ts-patch looks for TypeScript beside its own files.
    for (const name of readdirSync(path.join(repository, "node_modules"))) {
      if (!["typescript", "ts-patch", "stepmark", "@fixtures"].includes(name) && !name.startsWith(".")) {
        link(folder, name);
      }
    }
    link(folder, typescript, "typescript");
    link(folder, patch, "ts-patch");
    const given = JSON.parse(readFileSync(path.join(folder, "tsconfig.json"), "utf8")) as { compilerOptions: object };
    const module = format === "esm" ? "ESNext" : "CommonJS";
    // TypeScript 5.9 resolves CommonJS in an old way that does not know `exports`.
    const resolution =
      format === "cjs" && typescript !== "typescript" ? oldResolution : { moduleResolution: "Bundler" };
    const compilerOptions = { target, module, ...resolution, outDir: out };
    Object.assign(given.compilerOptions, compilerOptions);
    writeFileSync(path.join(folder, "tsconfig.tspc.json"), JSON.stringify(given));
    const script = path.join(folder, "node_modules/ts-patch/bin/tspc.js");
    const flags = ["--preserve-symlinks", "--preserve-symlinks-main"];
    const cwd = elsewhere ? path.dirname(folder) : folder;
    try {
      await run(process.execPath, [...flags, script, "-p", path.join(folder, "tsconfig.tspc.json")], { cwd });
    } catch (error) {
      throw new Error(String((error as { stdout: string }).stdout));
    }
    return outputTree(project, format, out);
  },
});

/** What a compiler has made of each file is a project again. */
function outputTree({ folder, entries }: Project, format: Setting["format"], out: string): Built {
  const type = format === "esm" ? "module" : "commonjs";
  writeFileSync(path.join(out, "package.json"), JSON.stringify({ type }));
  const lib = path.join(out, "node_modules/@fixtures/lib");
  mkdirSync(lib, { recursive: true });
  const index = JSON.stringify(path.join(out, "packages/lib/src/index.js"));
  writeFileSync(path.join(lib, "package.json"), JSON.stringify({ name: "@fixtures/lib", type, exports: "./main.js" }));
  writeFileSync(
    path.join(lib, "main.js"),
    format === "esm" ? `export * from ${index};` : `module.exports = require(${index});`,
  );
  const built = Object.entries(entries).map(([name, file]) => [
    name,
    path.join(out, path.relative(folder, path.join(folder, file)).replace(/\.tsx?$/, ".js")),
  ]);
  return { entries: Object.fromEntries(built) };
}

export interface NodeVersion {
  path: string;
  version: string;
}

const unseen = "Node 20 shows no hook what a required ES module imports";
const importedByRequired = { files: unseen, "odd names": unseen, workspace: unseen, javascript: unseen };

/** Node runs the files as they are. */
export function nodeHost({ path: node, version }: NodeVersion): Host {
  const [major, minor] = version.split(".").map(Number) as [number, number];
  const hasHooks = major > 22 || (major === 22 && minor >= 15);
  const strips = major > 22 || (major === 22 && minor >= 18);
  return {
    name: "Node",
    version,
    inMemory: true,
    what: `--import stepmark/register, ${strips ? "TypeScript and JavaScript" : "JavaScript"}`,
    languages: strips ? ["typescript", "javascript"] : ["javascript"],
    without: ({ format }) => ({
      "emitted-types": "Node only erases types",
      markup: "Node knows no JSX",
      ...(format === "cjs" && !hasHooks && importedByRequired),
    }),
    settings: formats.flatMap((format) =>
      both.map((elsewhere) => ({ format, target: "esnext" as const, minify: false, elsewhere })),
    ),
    async build(project, { elsewhere }) {
      const entries = Object.entries(project.entries).map(([name, file]) => [name, path.join(project.folder, file)]);
      return {
        entries: Object.fromEntries(entries),
        node,
        flags: ["--disable-warning=ExperimentalWarning", "--import", "stepmark/register"],
        cwd: elsewhere ? path.join(project.folder, "src") : project.folder,
      };
    },
  };
}

const here: NodeVersion = { path: process.execPath, version: process.versions.node };

export const bundlers: Host[] = [
  viteBuild,
  viteDev,
  rollupHost(true),
  rollupHost(false),
  rolldown,
  withEsbuild,
  webpackHost,
  rspackHost,
];
export const compilers: Host[] = [tspc("ts-patch-3", "typescript-5.9"), tspc("ts-patch", "typescript")];
export const nodes = (others: NodeVersion[]): Host[] => [here, ...others].map(nodeHost);

/** Projects on disk that use the transformer and the editor's plugin as a package, as they were built. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const repository = fileURLToPath(new URL("../..", import.meta.url));

/** What the library's types say, as far as the tests need them. */
const types = `declare module "stepmark" {
  interface Step { <R>(fn: () => R): Promise<Awaited<R>>; <A extends unknown[], R>(fn: (...args: A) => R, ...args: A): Promise<Awaited<R>>; }
  export const step: Step;
  export function workflow<I, O>(name: string, fn: (input: I) => Promise<O>): (input: I) => Promise<O>;
}
`;

const flags = ["--preserve-symlinks", "--preserve-symlinks-main"];

export interface Output {
  status: number | null;
  text: string;
}

/** Removed by `remove`; built once for all its projects. */
export class Workshop {
  readonly folder = realpathSync(mkdtempSync(path.join(tmpdir(), "stepmark-diagnostics-")));
  private readonly package = path.join(this.folder, "package");

  build(): void {
    const build = path.join(this.folder, "tsconfig.build.json");
    const compilerOptions = {
      noEmit: false,
      outDir: path.join(this.package, "dist"),
      rootDir: repository,
      paths: {},
      typeRoots: [path.join(repository, "node_modules/@types")],
    };
    const include = [path.join(repository, "transformer/index.ts"), path.join(repository, "transformer/editor.ts")];
    const config = { extends: path.join(repository, "tsconfig.json"), compilerOptions, include, exclude: [] };
    writeFileSync(build, JSON.stringify(config));
    const tsc = path.join(repository, "node_modules/typescript/bin/tsc");
    execFileSync(process.execPath, [tsc, "-p", build], { stdio: "pipe" });
    this.setVersion("1.0.0");
    cpSync(path.join(repository, "editor"), path.join(this.package, "editor"), { recursive: true });
    symlinkSync(path.join(repository, "node_modules"), path.join(this.package, "node_modules"));
  }

  /** The version that the package says it is. */
  setVersion(version: string): void {
    const exports = { "./transformer": "./dist/transformer/index.js", "./package.json": "./package.json" };
    const text = JSON.stringify({ name: "stepmark", version, type: "module", exports });
    writeFileSync(path.join(this.package, "package.json"), text);
  }

  project(name: string, patch = "ts-patch", typescript = "typescript"): Project {
    const folder = path.join(this.folder, name);
    const modules = path.join(folder, "node_modules");
    mkdirSync(path.join(folder, "src"), { recursive: true });
    mkdirSync(modules);
    // ts-patch looks for TypeScript and for what it needs itself beside its own files.
    for (const other of readdirSync(path.join(repository, "node_modules"))) {
      if (["typescript", "ts-patch", "stepmark"].includes(other) || other.startsWith(".")) continue;
      symlinkSync(path.join(repository, "node_modules", other), path.join(modules, other));
    }
    symlinkSync(path.join(repository, "node_modules", typescript), path.join(modules, "typescript"));
    symlinkSync(path.join(repository, "node_modules", patch), path.join(modules, "ts-patch"));
    symlinkSync(this.package, path.join(modules, "stepmark"));
    const project = new Project(folder);
    project.write("package.json", '{ "type": "module" }');
    project.write("src/stepmark.d.ts", types);
    return project;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export class Project {
  constructor(readonly folder: string) {}

  path(file: string): string {
    return path.join(this.folder, file);
  }

  write(file: string, text: string): void {
    writeFileSync(this.path(file), text);
  }

  /** @param plugin the rest of the plugin's entry */
  configure(plugin: object, compilerOptions: object = {}): void {
    const options = {
      target: "ES2022",
      module: "NodeNext",
      lib: ["ES2022"],
      types: [],
      skipLibCheck: true,
      outDir: "out",
      rootDir: "src",
      ...compilerOptions,
      plugins: [{ transform: "stepmark/transformer", name: "stepmark/editor", ...plugin }],
    };
    this.write("tsconfig.json", JSON.stringify({ compilerOptions: options, include: ["src"] }));
  }

  tspc(...args: string[]): Output {
    return this.run("node_modules/ts-patch/bin/tspc.js", args);
  }

  tsc(...args: string[]): Output {
    return this.run("node_modules/typescript/bin/tsc", args);
  }

  /** `tspc -w`: resolves whenever it has done a round, with what that round said. */
  watch(): { round(): Promise<string>; end(): void } {
    const command = [
      ...flags,
      this.path("node_modules/ts-patch/bin/tspc.js"),
      "-p",
      ".",
      "-w",
      "--preserveWatchOutput",
    ];
    const child = spawn(process.execPath, [...command, "--listEmittedFiles"], { cwd: this.folder });
    let text = "";
    let look = (): void => {};
    child.stdout.setEncoding("utf8").on("data", (more: string) => {
      text += more;
      look();
    });
    const round = (): Promise<string> =>
      new Promise((resolve) => {
        look = () => {
          const [, said] = /^([\s\S]*?)Watching for file changes\./.exec(text) ?? [];
          if (said === undefined) return;
          text = text.slice(said.length + "Watching for file changes.".length);
          look = () => {};
          resolve(said);
        };
        look();
      });
    return { round, end: () => void child.kill() };
  }

  private run(script: string, args: string[]): Output {
    const command = [...flags, this.path(script), ...args];
    const { status, stdout, stderr } = spawnSync(process.execPath, command, { cwd: this.folder, encoding: "utf8" });
    return { status, text: stdout + stderr };
  }
}

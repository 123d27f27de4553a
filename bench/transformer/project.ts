/** The project that builds and commands are measured on: 1,000 files, 200 of them with workflows; and processes that work on it. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { median } from "./rounds.js";
import { editedFile, plainFile, workflowFile } from "./sources.js";

const files = 1_000;
const workflows = 200;

/** Of a process, in milliseconds: by the clock, and of processor time (all threads). */
export interface Cost {
  readonly wall: number;
  readonly cpu: number;
}

export interface BenchProject {
  readonly folder: string;
  /**
   * Runs a program on it, and measures the whole process.
   *
   * @throws Error if it does not end with that exit code
   */
  node(args: readonly string[], exitCode?: number): Cost;
  /** Edits files with workflows, so many of them, as people do: a callee and a helper renamed, a step taken away. */
  edit(files: number): void;
  /** Builds it with a configuration of its own. */
  tspc(config: string): Cost;
  remove(): void;
}

/**
 * @param root folder of the project that the library is built in
 * @param configs entries of `compilerOptions.plugins`, by the name of the tsconfig
 */
export function benchProject(root: string, configs: Readonly<Record<string, readonly object[]>>): BenchProject {
  const folder = writeProject(root, configs);
  const report = join(folder, "cpu.json");
  const node = (args: readonly string[], exitCode = 0): Cost => {
    const start = performance.now();
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ["--import", join(folder, "report-cpu.mjs"), ...args],
      { cwd: folder, encoding: "utf8", env: { ...process.env, CPU_REPORT: report } },
    );
    const wall = performance.now() - start;
    if (status !== exitCode) throw new Error(`${args.join(" ")} ended with ${status}: ${stdout}${stderr}`);
    return { wall, cpu: Number(readFileSync(report, "utf8")) };
  };
  const compiler = join(root, "node_modules", "ts-patch", "bin", "tspc.js");
  return {
    folder,
    node,
    tspc: (config) => node([compiler, "-p", join(folder, config)]),
    edit(count) {
      for (let i = 0; i < count; i++) {
        const file = join(folder, `src/flows/flow${i}.ts`);
        writeFileSync(file, editedFile(i, readFileSync(file, "utf8")));
      }
    },
    remove: () => rmSync(folder, { recursive: true }),
  };
}

export interface Comparison {
  readonly one: Cost;
  readonly other: Cost;
  /** Median over the rounds of the ratio of the other to the one in a round. */
  readonly ratio: Cost;
}

/** Two costs, measured in turn. */
export function compare(rounds: number, one: () => Cost, other: () => Cost): Comparison {
  const pairs: [Cost, Cost][] = [];
  one();
  for (let round = 0; round < rounds; round++) {
    // Who comes first changes, since the second may find warmer files.
    if (round % 2 === 0) pairs.push([one(), other()]);
    else pairs.push([other(), one()].reverse() as [Cost, Cost]);
  }
  return {
    one: middle(pairs.map(([each]) => each)),
    other: middle(pairs.map(([, each]) => each)),
    ratio: middle(pairs.map(([a, b]) => ({ wall: b.wall / a.wall, cpu: b.cpu / a.cpu }))),
  };
}

export function middle(costs: readonly Cost[]): Cost {
  return { wall: median(costs.map(({ wall }) => wall)), cpu: median(costs.map(({ cpu }) => cpu)) };
}

function writeProject(root: string, configs: Readonly<Record<string, readonly object[]>>): string {
  const folder = mkdtempSync(join(tmpdir(), "stepmark-compile-"));
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  for (const name of ["src/flows", "src/plain", "node_modules"]) mkdirSync(join(folder, name), { recursive: true });
  symlinkSync(resolve(root), join(folder, "node_modules", "stepmark"), "junction");
  symlinkSync(join(resolve(root), "node_modules", "@types"), join(folder, "node_modules", "@types"), "junction");
  for (let i = 0; i < files - workflows; i++) write(`src/plain/plain${i}.ts`, plainFile(i));
  for (let i = 0; i < workflows; i++) write(`src/flows/flow${i}.ts`, workflowFile(i));
  write("package.json", '{ "type": "module" }');
  const options = {
    target: "ES2022",
    module: "NodeNext",
    strict: true,
    skipLibCheck: true,
    rootDir: "src",
    outDir: "out",
    types: ["node"],
  };
  for (const [name, plugins] of Object.entries(configs))
    write(name, JSON.stringify({ compilerOptions: { ...options, plugins }, include: ["src"] }));
  write(
    "report-cpu.mjs",
    `import { writeFileSync } from "node:fs";
process.on("exit", () => {
  const { user, system } = process.cpuUsage();
  writeFileSync(process.env.CPU_REPORT, String((user + system) / 1000));
});
`,
  );
  return folder;
}

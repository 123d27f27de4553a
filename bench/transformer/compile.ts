/** What the plugin adds to a build: `tspc` on a generated project, with the plugin and without. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { median } from "./rounds.js";
import { plainFile, workflowFile } from "./sources.js";

const files = 1_000;
const workflows = 200;

interface Cost {
  /** Milliseconds, of the clock and of processor time (all threads). */
  readonly wall: number;
  readonly cpu: number;
}

export interface CompileCost {
  readonly without: Cost;
  readonly withPlugin: Cost;
  /** Median over the rounds of the ratio of the two builds of a round. */
  readonly ratio: Cost;
}

/** @param root folder of the project that the library is built in */
export function compileCost(root: string, rounds: number): CompileCost {
  const folder = writeProject(root);
  const tspc = join(root, "node_modules", "ts-patch", "bin", "tspc.js");
  const build = (config: string): Cost => {
    const report = join(folder, "cpu.json");
    const start = performance.now();
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ["--import", join(folder, "report-cpu.mjs"), tspc, "-p", join(folder, config)],
      { encoding: "utf8", env: { ...process.env, CPU_REPORT: report } },
    );
    const wall = performance.now() - start;
    if (status !== 0) throw new Error(`tspc failed: ${stdout}${stderr}`);
    return { wall, cpu: Number(readFileSync(report, "utf8")) };
  };
  const pairs: [Cost, Cost][] = [];
  build("tsconfig.plain.json");
  for (let round = 0; round < rounds; round++) {
    // Who comes first changes, since the second may find warmer files.
    if (round % 2 === 0) pairs.push([build("tsconfig.plain.json"), build("tsconfig.json")]);
    else pairs.push([build("tsconfig.json"), build("tsconfig.plain.json")].reverse() as [Cost, Cost]);
  }
  rmSync(folder, { recursive: true });
  const middle = (of: (pair: [Cost, Cost]) => Cost): Cost => ({
    wall: median(pairs.map((pair) => of(pair).wall)),
    cpu: median(pairs.map((pair) => of(pair).cpu)),
  });
  return {
    without: middle(([without]) => without),
    withPlugin: middle(([, withPlugin]) => withPlugin),
    ratio: middle(([without, withPlugin]) => ({
      wall: withPlugin.wall / without.wall,
      cpu: withPlugin.cpu / without.cpu,
    })),
  };
}

function writeProject(root: string): string {
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
  const config = (plugins: object[]): string =>
    JSON.stringify({ compilerOptions: { ...options, plugins }, include: ["src"] });
  write("tsconfig.json", config([{ transform: "stepmark/transformer" }]));
  write("tsconfig.plain.json", config([]));
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

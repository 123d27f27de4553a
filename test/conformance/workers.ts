/** Hands tests to processes, which are replaced now and then, and when one hangs. */
import { type ChildProcess, fork } from "node:child_process";
import type { TestResult } from "./compare.js";

export interface Workforce {
  readonly suite: string;
  readonly quick: boolean;
  /** Text of the runtime, see `bundleRuntime`. */
  readonly runtime: string;
  /** Path of the worker's script. */
  readonly worker: string;
  readonly count: number;
}

/** Tests that one process runs before it is replaced, since realms leave memory behind. */
const perProcess = 300;
/** Milliseconds for one test in all its variants. */
const patience = 60_000;

export async function runAll(paths: readonly string[], workforce: Workforce): Promise<TestResult[]> {
  const waiting = [...paths].reverse();
  const results: TestResult[] = [];
  const work = async (): Promise<void> => {
    while (waiting.length > 0) {
      const child = start(workforce);
      for (let i = 0; i < perProcess && waiting.length > 0; i++) {
        const path = waiting.pop()!;
        const result = await ask(child, path);
        results.push(result ?? hung(path));
        for (const { how, outcome } of results.at(-1)!.differences) {
          console.error(`${path} (${how}): ${outcome.slice(0, 200)}`);
        }
        if (results.length % 1_000 === 0) progress(results, paths.length);
        if (result === undefined) break;
      }
      child.kill("SIGKILL");
    }
  };
  await Promise.all(Array.from({ length: workforce.count }, work));
  return results;
}

function start({ worker, suite, quick, runtime }: Workforce): ChildProcess {
  const child = fork(worker, {
    execArgv: ["--experimental-vm-modules", "--no-warnings", "--stack-size=900"],
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  child.send({ suite, quick, runtime });
  return child;
}

/** Undefined if no answer comes. */
function ask(child: ChildProcess, path: string): Promise<TestResult | undefined> {
  return new Promise((resolve) => {
    const settle = (result?: TestResult): void => {
      clearTimeout(timer);
      child.off("message", settle).off("exit", gone);
      resolve(result);
    };
    const gone = (): void => settle();
    const timer = setTimeout(gone, patience);
    child.on("message", settle).on("exit", gone);
    child.send(path);
  });
}

function hung(path: string): TestResult {
  const difference = { path, how: "?", outcome: "no answer" };
  return {
    path,
    counted: 0,
    failing: 0,
    runs: 0,
    leftAlone: 0,
    notParsed: 0,
    notPrinted: 0,
    differences: [difference],
  };
}

function progress(results: readonly TestResult[], all: number): void {
  const differing = results.filter(({ differences }) => differences.length > 0).length;
  console.error(`${results.length} of ${all} files, ${differing} with differences`);
}

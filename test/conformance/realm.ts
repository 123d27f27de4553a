/** Runs one program in a realm of its own. */
import * as asyncHooks from "node:async_hooks";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import * as util from "node:util";
import vm from "node:vm";
import type { TestFile } from "./suite.js";

export interface Program {
  readonly test: TestFile;
  readonly code: string;
  /** What is done to the text of modules that it imports. */
  readonly transform: (code: string) => string;
  readonly inRun: boolean;
}

/** What programs share: the suite's folder, and the runtime's text as `bundleRuntime` makes it. */
export interface Surroundings {
  readonly suite: string;
  /** Only one variant of each test. */
  readonly quick: boolean;
  readonly runtime: vm.Script;
}

/** What the runtime has of Node. */
const builtins: Readonly<Record<string, unknown>> = { "node:async_hooks": asyncHooks, "node:util": util };

/** Milliseconds. */
const patience = 20_000;
const harness = new Map<string, vm.Script>();

/** @returns "pass", or how it failed */
export async function run(program: Program, surroundings: Surroundings): Promise<string> {
  const { flags, includes, negative } = program.test;
  const messages: string[] = [];
  let told = (): void => {};
  const realm = createRealm((message) => {
    messages.push(message);
    told();
  });
  const { inRun } = linkRuntime(realm, surroundings);
  const enter = program.inRun ? inRun : <T>(body: () => T): T => body();
  let phase = "harness";
  try {
    if (!flags.has("raw")) {
      const files = ["assert.js", "sta.js", ...(flags.has("async") ? ["doneprintHandle.js"] : []), ...includes];
      for (const name of files) harnessScript(surroundings, name).runInContext(realm);
    }
    phase = "parse";
    if (flags.has("module")) {
      const modules = new Modules(realm, program, surroundings);
      const module = modules.make(program.code, program.test.path);
      phase = "resolution";
      await withPatience(module.link((name, from) => modules.find(name, from.identifier)));
      phase = "runtime";
      await withPatience(enter(() => module.evaluate({ timeout: patience })));
    } else {
      const modules = new Modules(realm, program, surroundings);
      const script = new vm.Script(program.code, {
        filename: program.test.path,
        importModuleDynamically: (name) => modules.load(name, program.test.path),
      });
      phase = "runtime";
      enter(() => script.runInContext(realm, { timeout: patience }));
    }
    if (flags.has("async") && negative === undefined) {
      const said = (): string | undefined => messages.find((message) => message.startsWith("Test262:Async"));
      if (said() === undefined) {
        await withPatience(
          new Promise<void>((resolve) => {
            told = () => (said() === undefined ? undefined : resolve());
          }),
        );
      }
      if (said() !== "Test262:AsyncTestComplete") return `fail: ${said()}`;
    }
  } catch (error) {
    const name = nameOf(error);
    if (negative?.type === name && (negative.phase !== "runtime" || phase === "runtime") && phase !== "harness") {
      return "pass";
    }
    return `fail in ${phase}: ${name}: ${messageOf(error)}`;
  }
  return negative === undefined ? "pass" : "fail: no error";
}

function nameOf(error: unknown): string {
  try {
    return (error as { constructor: { name: string } }).constructor.name;
  } catch {
    return typeof error;
  }
}

function messageOf(error: unknown): string {
  try {
    return String((error as Error).message ?? error);
  } catch {
    return "";
  }
}

async function withPatience<T>(promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("nothing happened")), patience);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

function harnessScript({ suite }: Surroundings, name: string): vm.Script {
  let script = harness.get(name);
  if (script === undefined) {
    script = new vm.Script(readFileSync(join(suite, "harness", name), "utf8"), { filename: name });
    harness.set(name, script);
  }
  return script;
}

function linkRuntime(realm: vm.Context, { runtime }: Surroundings): { inRun<T>(body: () => T): T } {
  const define = runtime.runInContext(realm) as (require: (name: string) => unknown, module: object) => never;
  return define((name) => builtins[name], { exports: {} });
}

/** A realm with what the suite expects of its host. */
function createRealm(print: (message: string) => void): vm.Context {
  const realm = vm.createContext({ print: (message: unknown) => print(String(message)) });
  const global = vm.runInContext("globalThis", realm) as Record<string, unknown>;
  const host = {
    global,
    createRealm: () => (createRealm(print) as { $262: unknown }).$262,
    evalScript: (code: string) => new vm.Script(code).runInContext(realm),
    detachArrayBuffer: (buffer: ArrayBuffer) => {
      structuredClone(buffer, { transfer: [buffer] });
      return null;
    },
    gc: () => {
      throw new Error("no gc");
    },
  };
  Object.defineProperty(global, "$262", { value: host, writable: true, configurable: true });
  return realm;
}

/** The modules of one program. */
class Modules {
  private readonly known = new Map<string, vm.SourceTextModule>();

  constructor(
    private readonly realm: vm.Context,
    private readonly program: Program,
    private readonly surroundings: Surroundings,
  ) {}

  make(code: string, path: string): vm.SourceTextModule {
    const module = new vm.SourceTextModule(code, {
      context: this.realm,
      identifier: path,
      importModuleDynamically: (name: string) => this.load(name, path),
    } as vm.SourceTextModuleOptions);
    this.known.set(path, module);
    return module;
  }

  find(name: string, from: string): vm.SourceTextModule {
    const path = join(dirname(from), name);
    const known = this.known.get(path);
    if (known !== undefined) return known;
    const source = readFileSync(join(this.surroundings.suite, "test", path), "utf8");
    return this.make(this.program.transform(source), path);
  }

  async load(name: string, from: string): Promise<vm.SourceTextModule> {
    const module = this.find(name, from);
    if (module.status === "unlinked") await module.link((next, by) => this.find(next, by.identifier));
    if (module.status === "linked") await module.evaluate();
    return module;
  }
}

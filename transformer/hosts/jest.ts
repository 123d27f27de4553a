/**
 * Jest: `"transform": { "\\.[jt]sx?$": ["stepmark/jest", { "transformer": "ts-jest" }] }`.
 *
 * The code goes on to the project's own transformer, which strips the types and makes CommonJS of it.
 */
import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import path from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { TransformerOptionsError } from "../errors.js";
import { RUNTIME } from "../plan/root.js";
import { formatDiagnostic } from "../transform-text.js";
import { version } from "../version.js";
import {
  type HostOptions,
  type HostTransform,
  type HostTransformed,
  hostTransform,
  lockedText,
} from "./host-transform.js";
import { throughEarlierMap, throughOurMap } from "./joined-maps.js";
import { tsJest } from "./types-checked.js";

export interface JestOptions extends HostOptions {
  /** The transformer that comes after: a package or a file, alone or with its options. Without one the code is run as it is. */
  readonly transformer?: string | readonly [name: string, options: object];
}

/** Of Jest's `TransformOptions`, what is used here. */
interface JestCall {
  readonly config: { readonly rootDir: string };
  readonly configString: string;
  readonly instrument: boolean;
}

interface TransformedSource {
  code: string;
  map?: object | string | null;
}

interface Transformer {
  readonly canInstrument?: boolean;
  process(code: string, file: string, call: JestCall): TransformedSource;
  processAsync?(code: string, file: string, call: JestCall): Promise<TransformedSource>;
  getCacheKey?(code: string, file: string, call: JestCall): string;
}

async function createTransformer({ transformer, ...options }: JestOptions = {}): Promise<Required<Transformer>> {
  const [name, nextOptions] = typeof transformer === "string" ? [transformer] : (transformer ?? []);
  const next = name === undefined ? plain : await load(name, nextOptions);
  const transforms = new Map<string, HostTransform>();
  const transform = (code: string, file: string, { config: { rootDir } }: JestCall): HostTransformed | undefined => {
    if (!transforms.has(rootDir))
      transforms.set(rootDir, hostTransform(options, rootDir, "the options of stepmark/jest"));
    return transforms.get(rootDir)!(code, file, (diagnostic) => {
      if (diagnostic.category === "error") throw new SyntaxError(formatDiagnostic(diagnostic));
      console.warn(formatDiagnostic(diagnostic));
    });
  };
  const pass = (code: string, file: string, call: JestCall): TransformedSource => {
    const ours = transform(code, file, call);
    if (ours === undefined) return next.process(code, file, call);
    if (next === plain) return throughEarlierMap(ours, file);
    try {
      return madeOf(ours, next.process(ours.code, file, call), file);
    } catch (fault) {
      throw faultOf(ours, fault);
    }
  };
  return {
    canInstrument: next.canInstrument ?? false,
    process: pass,
    async processAsync(code, file, call) {
      if (next.processAsync === undefined) return pass(code, file, call);
      const ours = transform(code, file, call);
      if (ours === undefined) return next.processAsync(code, file, call);
      try {
        return madeOf(ours, await next.processAsync(ours.code, file, call), file);
      } catch (fault) {
        throw faultOf(ours, fault);
      }
    },
    getCacheKey(code, file, call) {
      const rest = next.getCacheKey?.(code, file, call) ?? [code, file, call.configString, call.instrument];
      const parts = JSON.stringify([version(), options, lockedText(options, call.config.rootDir, file), rest]);
      return createHash("sha256").update(parts).digest("hex");
    },
  };
}

/** What the next transformer has made, if it was the transformed code of which it has made it. */
function madeOf({ code, map }: HostTransformed, made: TransformedSource, file: string): TransformedSource {
  if (!code.includes(RUNTIME) || made.code.includes(RUNTIME)) return throughOurMap(made, map, file);
  throw new TransformerOptionsError(tsJest.what, tsJest.cure);
}

/** ts-jest's errors about types are no use where they are about transformed code. */
function faultOf({ code }: HostTransformed, fault: unknown): unknown {
  if (!(fault instanceof Error) || fault.name !== "TSError" || !code.includes(RUNTIME)) return fault;
  return Object.assign(new TransformerOptionsError(tsJest.what, tsJest.cure), { cause: fault });
}

const plain: Transformer = { process: (code) => ({ code }) };

/** A transformer as Jest finds it, looked up from the project. */
async function load(name: string, options: object = {}): Promise<Transformer> {
  const file = createRequire(path.join(process.cwd(), "package.json")).resolve(name);
  let found = (await import(pathToFileURL(file).href)) as Transformer & {
    default?: typeof found;
    createTransformer?(options: object): Transformer | Promise<Transformer>;
  };
  while (found.process === undefined && found.createTransformer === undefined && found.default) found = found.default;
  return found.createTransformer === undefined ? found : found.createTransformer(options);
}

export default { createTransformer };

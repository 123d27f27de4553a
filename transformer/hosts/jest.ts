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
import { type HostOptions, type HostTransform, hostTransform, lockedText } from "./host-transform.js";
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
  const transform = (code: string, file: string, { config: { rootDir } }: JestCall): TransformedSource => {
    if (!transforms.has(rootDir))
      transforms.set(rootDir, hostTransform(options, rootDir, "the options of stepmark/jest"));
    const transformed = transforms.get(rootDir)!(code, file, (diagnostic) => {
      if (diagnostic.category === "error") throw new SyntaxError(formatDiagnostic(diagnostic));
      console.warn(formatDiagnostic(diagnostic));
    });
    return transformed ?? { code };
  };
  const pass = (code: string, file: string, call: JestCall): TransformedSource => {
    const transformed = transform(code, file, call);
    if (next === plain) return transformed;
    try {
      return madeOf(transformed, next.process(transformed.code, file, call));
    } catch (fault) {
      throw faultOf(transformed, fault);
    }
  };
  return {
    canInstrument: next.canInstrument ?? false,
    process: pass,
    async processAsync(code, file, call) {
      if (next.processAsync === undefined) return pass(code, file, call);
      const transformed = transform(code, file, call);
      try {
        return madeOf(transformed, await next.processAsync(transformed.code, file, call));
      } catch (fault) {
        throw faultOf(transformed, fault);
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
function madeOf({ code }: TransformedSource, made: TransformedSource): TransformedSource {
  if (!code.includes(RUNTIME) || made.code.includes(RUNTIME)) return made;
  throw new TransformerOptionsError(tsJest.what, tsJest.cure);
}

/** ts-jest's errors about types are no use where they are about transformed code. */
function faultOf({ code }: TransformedSource, fault: unknown): unknown {
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

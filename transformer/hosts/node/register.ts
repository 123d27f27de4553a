/**
 * Node's own loader: `node --import stepmark/register app.ts`.
 *
 * Modules are transformed as they are loaded, imported and required ones alike; Node strips the types, where it can.
 */
import Module, * as nodeModule from "node:module";
import path from "node:path";
import process from "node:process";
import { explain, type Loaded, nodeTransform, transformLoaded } from "./load.js";
import { readProject } from "./project-options.js";

interface HooksApi {
  /** Node 22.15 and 23.5. */
  registerHooks?(hooks: {
    load<L extends Loaded>(url: string, context: unknown, nextLoad: (url: string, context: unknown) => L): L;
  }): void;
}

const [, script] = process.argv;
const project = readProject(script === undefined ? process.cwd() : path.dirname(path.resolve(script)));
const transform = nodeTransform(project);
const { registerHooks } = nodeModule as HooksApi;

if (registerHooks !== undefined) {
  registerHooks({
    load(url, context, nextLoad) {
      try {
        return transformLoaded(nextLoad(url, context), url, transform);
      } catch (error) {
        throw explain(error, url);
      }
    },
  });
} else {
  nodeModule.register("./async-hooks.js", import.meta.url, { data: project });
  transformRequired();
}

/** Those hooks do not see what is required: all of it, and CommonJS that is imported, goes through this one method. */
function transformRequired(): void {
  const prototype = (Module as unknown as { prototype: { _compile: Compile } }).prototype;
  const { _compile: compile } = prototype;
  prototype._compile = function (code, file, ...rest) {
    return compile.call(this, transform(code, file) ?? code, file, ...rest);
  };
}

type Compile = (this: unknown, code: string, file: string, ...rest: unknown[]) => unknown;

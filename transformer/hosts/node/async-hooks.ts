/** Hooks of Node's thread for ES modules, for Nodes without `module.registerHooks`. */
import { explain, type Loaded, nodeTransform, transformLoaded } from "./load.js";
import type { Project } from "./project-options.js";

let transform: ReturnType<typeof nodeTransform>;

export function initialize(project: Project): void {
  transform = nodeTransform(project);
}

export async function load<L extends Loaded>(
  url: string,
  context: unknown,
  nextLoad: (url: string, context: unknown) => Promise<L>,
): Promise<L> {
  try {
    return transformLoaded(await nextLoad(url, context), url, transform);
  } catch (error) {
    throw explain(error, url);
  }
}

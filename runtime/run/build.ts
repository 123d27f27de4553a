/** What this build of the code has of what a record names. */
import type { SiteRecord } from "../journal/entry.js";
import type { ModuleTable } from "../scope/module-table.js";
import { RowKind } from "../scope/site-table.js";

/** Where the workflow's own function stands: its module and container, as `path#container`. */
export function rootOf(module: ModuleTable, container: string): string {
  return `${module.path}#${container}`;
}

/** Whether any module that contributed to a record has another text now, or is gone. */
export function anyChanged(recorded: ReadonlyMap<string, string>, modules: ReadonlyMap<string, ModuleTable>): boolean {
  for (const [path, text] of recorded) if (modules.get(path)?.text !== text) return true;
  return false;
}

/**
 * Whether a recorded call still has a site: a place of its anchor in its function, in whatever file that now stands.
 * A call in the workflow's own function must be in the function that replaces it.
 */
export function hasSite(
  site: SiteRecord,
  rootThen: string | undefined,
  rootNow: string | undefined,
  modules: ReadonlyMap<string, ModuleTable>,
): boolean {
  const then = splitRoot(rootThen);
  const now = splitRoot(rootNow);
  if (then && now && then.module === site.module && isWithin(site.container, then.container)) {
    const module = modules.get(now.module);
    const container = now.container + site.container.slice(then.container.length);
    return module !== undefined && hasPlace(module, container, site.anchor);
  }
  for (const module of modules.values()) if (hasPlace(module, site.container, site.anchor)) return true;
  return false;
}

function hasPlace(module: ModuleTable, container: string, anchor: string): boolean {
  return module.places.some(
    (place) => place.kind === RowKind.site && place.container === container && place.anchor === anchor,
  );
}

function isWithin(container: string, outer: string): boolean {
  return container === outer || container.startsWith(`${outer}>`);
}

function splitRoot(root: string | undefined): { module: string; container: string } | undefined {
  if (root === undefined) return undefined;
  const at = root.lastIndexOf("#");
  return { module: root.slice(0, at), container: root.slice(at + 1) };
}

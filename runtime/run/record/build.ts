/** What this build of the code has of what a record names. */
import { createHash } from "node:crypto";
import type { SiteRecord } from "../../journal/entry.js";
import { extendChain, leadsPastAnother, whereaboutsOf } from "../../scope/chain.js";
import { baseAnchor, type ModuleTable, type Place } from "../../scope/module-table.js";
import { RowKind } from "../../scope/site-table.js";

/** Where the workflow's own function stands: its module and container, as `path#container`. */
export function rootOf(module: ModuleTable, container: string): string {
  return `${module.path}#${container}`;
}

/** What is recorded of a module, be it that the record says nothing of trees, as older ones do. */
export function recordedOf<T>(recorded: ReadonlyMap<string, T>, { id, path }: ModuleTable): T | undefined {
  return recorded.get(id) ?? recorded.get(path);
}

/** Where a place stands, whatever file that is: in its function, or, for the workflow's own function, below that. */
export function whereabouts(root: string | undefined, module: ModuleTable, place: Place): string {
  const kind = place.kind === RowKind.generator ? RowKind.fn : place.kind;
  const spelt = `${kind} ${relative(root, module.path, place.container)} ${place.anchor}`;
  return createHash("sha256").update(spelt).digest("hex").slice(0, 8);
}

/** A container as it is below the workflow's own function, if it is there. */
export function relative(root: string | undefined, module: string, container: string): string {
  const own = splitRoot(root);
  if (own === undefined || own.module !== module || !isWithin(container, own.container)) return container;
  return `^${container.slice(own.container.length)}`;
}

/** Whether two sites are one call of one function, whatever stands around that function. */
export function isSameSite(
  then: SiteRecord,
  rootThen: string | undefined,
  now: SiteRecord,
  rootNow: string | undefined,
): boolean {
  if (baseAnchor(then.anchor) !== baseAnchor(now.anchor)) return false;
  return relative(rootThen, then.module, then.container) === relative(rootNow, now.module, now.container);
}

/** The places of this build. */
export class Build {
  /** What a chain says of each place, by where it stands. */
  private readonly places = new Map<string, string>();
  private readonly sites = new Set<string>();
  private readonly anchors = new Set<string>();
  /** Sites by module path and container. */
  private readonly functions = new Map<string, Set<string>>();

  constructor(root: string | undefined, modules: Iterable<ModuleTable>) {
    for (const module of modules) {
      for (const place of module.places) {
        const where = whereabouts(root, module, place);
        this.places.set(where, extendChain("", place, where));
        const container = `${module.path}#${place.container}`;
        const anchors = this.functions.get(container) ?? new Set();
        this.functions.set(container, anchors);
        if (place.kind === RowKind.site) anchors.add(place.anchor);
        if (place.kind !== RowKind.site) continue;
        this.sites.add(`${relative(root, module.path, place.container)} ${place.anchor}`);
        this.anchors.add(baseAnchor(place.anchor));
      }
    }
  }

  /**
   * Whether a recorded call can still be reached: each call on the way to it is in its function, and so is the call
   * itself. One with an explicit key may have moved anywhere.
   */
  reaches(site: SiteRecord, chain: string, rootThen: string | undefined): boolean {
    if (chain === "") return this.anchors.has(baseAnchor(site.anchor));
    const container = relative(rootThen, site.module, site.container);
    // A namesake in another file says nothing while the function is still where it was.
    const home = container === site.container ? this.functions.get(`${site.module}#${container}`) : undefined;
    if (home !== undefined && !home.has(site.anchor)) return false;
    const way = whereaboutsOf(chain);
    if (way !== undefined) return way.every((place) => this.places.has(place));
    return this.sites.has(`${container} ${site.anchor}`);
  }

  /** Whether a place stands where one is said to. */
  has(whereabouts: string): boolean {
    return this.places.has(whereabouts);
  }

  /** Whether one of the calls on the way to a recorded call, or that call itself, may be a namesake of what it was. */
  confuses(chain: string): boolean {
    return leadsPastAnother(chain, (where) => this.places.get(where));
  }
}

/** Whether a container is another, or a function inside that. */
export function isWithin(container: string, outer: string): boolean {
  return container === outer || container.startsWith(`${outer}>`);
}

/** The module of a workflow's own function. */
export function rootModule(root: string | undefined): string | undefined {
  return splitRoot(root)?.module;
}

function splitRoot(root: string | undefined): { module: string; container: string } | undefined {
  if (root === undefined) return undefined;
  const at = root.lastIndexOf("#");
  return { module: root.slice(0, at), container: root.slice(at + 1) };
}

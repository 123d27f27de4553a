/**
 * Whether an edit has shifted calls to one another's places: then a record at a place may be of the call that stood
 * there before, though place and key are the same. With a function put around some calls, say, each stands where those
 * of the function below stood.
 *
 * For this a run's journal keeps the sites of each build that recorded it: where each stood, and the text of its call.
 */
import type { SiteRecord } from "../../journal/entry.js";
import { textOf } from "../../scope/chain.js";
import type { ModuleTable } from "../../scope/module-table.js";
import { RowKind } from "../../scope/site-table.js";
import { isWithin, relative } from "./build.js";

/** A site of a build: its function, below the workflow's own or else from the module down, and the text of its call. */
export type Standing = readonly [container: string, anchor: string, text: string];

/** A module's sites, and those of its marked calls and functions that are told apart by more than their names. */
export function sitesOf(root: string | undefined, { path, places }: ModuleTable): Standing[] {
  return places
    .filter(({ kind, own }) => kind === RowKind.site || own !== undefined)
    .map((place) => [
      relative(root, path, place.container),
      place.kind === RowKind.site ? place.anchor : place.segment,
      textOf(place),
    ]);
}

export function standingOf(root: string | undefined, site: SiteRecord): Standing {
  return [relative(root, site.module, site.container), site.anchor, textOf(site)];
}

/** The sites of a build that have a text. */
export type SitesByText = ReadonlyMap<string, readonly Standing[]>;

export function byText(sites: Iterable<Standing>): SitesByText {
  const found = new Map<string, Standing[]>();
  for (const site of sites) {
    const same = found.get(site[2]);
    if (same === undefined) found.set(site[2], [site]);
    else same.push(site);
  }
  return found;
}

/**
 * Whether the call that stands at a place now came from another place, or the one that stood there went to another; be it
 * that a function was put around it, or made of it.
 *
 * @param then the sites of the build that recorded the call
 * @param now the sites of this build
 */
export function isShifted(then: SitesByText, now: SitesByText, recorded: Standing, asking: Standing): boolean {
  const came = hasMoved(then, now, asking, recorded);
  const went = hasMoved(now, then, recorded, asking);
  return recorded[2] === asking[2] ? came && went : came || went;
}

/** Whether a site with the text of `site` stands elsewhere in `here`, and not at that place in `there`. */
function hasMoved(here: SitesByText, there: SitesByText, site: Standing, counterpart: Standing): boolean {
  const text = site[2];
  const others = there.get(text) ?? [];
  return (here.get(text) ?? []).some(
    (each) =>
      !isSamePlace(each, site) &&
      !isSamePlace(each, counterpart) &&
      !isElsewhere(each, site) &&
      !others.some((other) => isSamePlace(each, other)),
  );
}

function isSamePlace([container, anchor]: Standing, [otherContainer, otherAnchor]: Standing): boolean {
  return container === otherContainer && anchor === otherAnchor;
}

/** Whether a place is in another workflow, or the like: in a function that nothing calls, since it was given to a call of the module's own. */
function isElsewhere([container]: Standing, [own]: Standing): boolean {
  const isGiven = /^[^^>][^>]*\(\d*\)(>|$)/.test(container);
  return isGiven && !isWithin(container, own) && !isWithin(own, container);
}

/** One copy of what many entries of a journal say alike: the way to their call, and where it stands. */
import type { Entry, SiteRecord } from "../../journal/entry.js";

/** Makes entries that were read one by one share what is equal, which is most of what they take in memory. */
export class Shared {
  private readonly chains = new Map<string, string>();
  /** By chain: calls with one way to them mostly stand in one place. */
  private readonly sites = new Map<string, SiteRecord>();

  share(entry: Entry): void {
    const { chain = "", site } = entry;
    const known = this.chains.get(chain);
    if (known === undefined) this.chains.set(chain, chain);
    else if (entry.chain !== undefined) entry.chain = known;
    if (site === undefined) return;
    const before = this.sites.get(chain);
    if (before !== undefined && isSame(before, site)) entry.site = before;
    else this.sites.set(chain, site);
  }
}

function isSame(one: SiteRecord, other: SiteRecord): boolean {
  return (
    one.module === other.module &&
    one.moduleText === other.moduleText &&
    one.container === other.container &&
    one.anchor === other.anchor &&
    one.line === other.line &&
    one.text === other.text &&
    one.own === other.own &&
    one.tag === other.tag
  );
}

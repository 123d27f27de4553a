/**
 * A record and the code that replays it, which may have been edited since: what the edits may have done to recorded
 * calls that nobody has asked for. None of them may be done a second time in silence.
 */
import { isAnother, isTheSame, type SiteRecord } from "../../journal/entry.js";
import {
  changedTwins,
  differInPlaces,
  isOnGoneWay,
  isSameTag,
  leadsElsewhere,
  tagsOf,
  textOf,
} from "../../scope/chain.js";
import { fromModuleId, type ModuleTable } from "../../scope/module-table.js";
import type { Call } from "../call.js";
import { Build, isSameSite, recordedOf, rootModule } from "./build.js";
import type { CodeAtHand, RecordedModule } from "./code-at-hand.js";
import type { PresentCode } from "./present-code.js";
import type { RecordedCall } from "./record.js";
import type { Replay } from "./replay.js";
import { byText, isShifted, type SitesByText, sitesOf, standingOf } from "./shifts.js";

/** Recorded work that a call which wants to start may be, under another key. */
export interface Suspicion {
  call: Call;
  recorded: RecordedCall;
}

export class EditedCode {
  /** What was done under another build and this one has not asked for; undefined until a body wants to start. */
  private spared: RecordedCall[] | undefined;
  private readonly texts = new Map<RecordedCall["build"], RecordedModule[]>();
  private readonly builds = new Map<RecordedCall["build"], SitesByText>();
  private now: SitesByText | undefined;
  private version = 0;
  private readonly shifts = new Map<string, boolean>();

  constructor(
    private readonly replay: Replay,
    private readonly present: PresentCode,
    private readonly code: CodeAtHand,
  ) {}

  /** Whether the workflow's own function is another than the one that recorded the call. */
  rootChangedSince({ here }: RecordedCall): boolean {
    return !here && this.replay.record.root !== this.present.root;
  }

  /** Whether the code is another than the one that recorded the call; a run may have met several builds. */
  changedSince(recorded: RecordedCall): boolean {
    if (recorded.here) return false;
    if (this.rootChangedSince(recorded)) return true;
    const modules = this.modulesOf(recorded.build);
    for (let i = 0; i < modules.length; i++) if (!this.code.has(modules[i]!)) return true;
    return false;
  }

  /** The modules of a build, as an array: each hit goes through it, and a map would make objects for that. */
  private modulesOf(build: RecordedCall["build"]): readonly RecordedModule[] {
    let modules = this.texts.get(build);
    if (modules?.length !== build.size) {
      modules = [...build].map(([id, text]) => ({ ...fromModuleId(id), text }));
      this.texts.set(build, modules);
    }
    return modules;
  }

  /**
   * Whether code that is as it was came to a call on the way on which it came to it when its record was made, past the same places,
   * or on another. Undefined if that cannot be said, since the code has changed or the call goes by a key.
   */
  compareWays({ chain, site }: Pick<Call, "chain" | "site">, recorded: RecordedCall): "same" | "another" | undefined {
    if (chain === recorded.chain) return "same";
    if (chain === "" || recorded.chain === "" || this.changedSince(recorded)) return undefined;
    const isTagged = (): boolean => site?.tag === recorded.site?.tag;
    return differInPlaces(recorded.chain, chain, isTagged) ? "another" : "same";
  }

  /** Whether the edits may have put a call to where another one stood when its record was made. */
  isShifted({ site, args, chain }: Call, recorded: RecordedCall): boolean {
    if (chain === "" || site === undefined || recorded.site === undefined || !this.changedSince(recorded)) return false;
    // What the lock file knows elsewhere did not stand here.
    if (site.tag === undefined && this.hasPlace(recorded.site)) return true;
    const then = this.sitesThen(recorded.build);
    if (then.size === 0) return false;
    const now = this.sitesNow();
    if (changedTwins(recorded.chain, chain).some(([before, after]) => now.has(before) || then.has(after))) return true;
    // Equal texts with equal arguments ask for the same, unless there is nothing that could tell them apart.
    if (textOf(site) === textOf(recorded.site) && args !== "") return false;
    if (isTheSame(recorded.site, site)) return false;
    if (recorded.chain !== chain) {
      const build = this.buildNow();
      if (leadsElsewhere(recorded.chain, chain, (place) => build.has(place))) return true;
    }
    const before = standingOf(this.replay.record.root, recorded.site);
    const after = standingOf(this.present.root, site);
    const question = JSON.stringify([before, after]);
    let shifted = this.shifts.get(question);
    if (shifted === undefined) {
      shifted = isShifted(then, now, before, after);
      this.shifts.set(question, shifted);
    }
    return shifted;
  }

  /** The text of each module that has a part in the run: none if it is not there. */
  get build(): Array<[path: string, text: string]> {
    const ids = [...this.replay.record.modules.keys(), ...this.present.tables.keys()];
    const paths = new Set(ids.map((id) => fromModuleId(id).path));
    return [...paths].map((path) => [path, this.code.textAt(path)]);
  }

  /** Whether a build, as `build` gave it, is the one at hand. */
  isBuild(build: ReadonlyMap<string, string>): boolean {
    for (const [path, text] of build) if (this.code.textAt(path) !== text) return false;
    return true;
  }

  private sitesThen(build: RecordedCall["build"]): SitesByText {
    let sites = this.builds.get(build);
    if (sites === undefined) {
      const { record } = this.replay;
      sites = byText([...build.values()].flatMap((text) => record.sites.get(text) ?? []));
      this.builds.set(build, sites);
    }
    return sites;
  }

  /** Of all modules that are loaded by now. */
  private sitesNow(): SitesByText {
    if (this.now === undefined || this.code.version !== this.version) {
      this.version = this.code.version;
      this.now = byText(this.code.all().flatMap((module) => sitesOf(this.present.root, module)));
      this.shifts.clear();
    }
    return this.now;
  }

  /** Tags of places that the lock file says are gone. */
  private gone(): ReadonlySet<string> {
    return new Set(this.code.all().flatMap(({ retired }) => retired));
  }

  /** Those of the calls that this build has no way to. */
  retired(calls: readonly RecordedCall[]): RecordedCall[] {
    const known = this.gone();
    const build = this.buildNow();
    const then = this.replay.record.root;
    return calls.filter(({ site, chain }) => {
      if (site === undefined || (site.tag !== undefined && known.has(site.tag))) return false;
      return !build.reaches(site, chain, then) && !isOnGoneWay(chain, known);
    });
  }

  /** Those of the calls that this build has a way to which may be that of another call of its name. */
  uncertain(calls: readonly RecordedCall[]): RecordedCall[] {
    const build = this.buildNow();
    return calls.filter(({ chain }) => build.confuses(chain));
  }

  private buildNow(): Build {
    const { root, modules: before } = this.replay.record;
    // Where the workflow has moved to another file, what is left as it was is an old build, unless it takes part.
    const left = rootModule(root) === rootModule(this.present.root) ? undefined : rootModule(root);
    const isLeft = (module: ModuleTable): boolean =>
      module.path === left &&
      module.text === recordedOf(before, module) &&
      recordedOf(this.present.tables, module) === undefined;
    return new Build(
      this.present.root,
      this.code.all().filter((module) => !isLeft(module)),
    );
  }

  /**
   * When a body wants to start for the first time: the calls of other builds that nobody has asked for.
   *
   * @param counts whether a call is to be looked at, now and when what wants to start is taken for it
   */
  firstLook(counts: (call: RecordedCall) => boolean): RecordedCall[] {
    if (this.spared !== undefined) return [];
    const changed = (call: RecordedCall): boolean => this.changedSince(call) && counts(call);
    this.spared = this.replay.spared().filter(changed);
    return this.replay.unasked().filter(changed);
  }

  /** A call that wants to start, and recorded work of the same site, with the same arguments, that nobody asked for. */
  suspicion(wanted: readonly Call[]): Suspicion | undefined {
    if (this.spared === undefined || this.spared.length === 0) return undefined;
    this.spared = this.spared.filter(({ asked }) => !asked);
    for (const call of wanted) {
      const recorded = this.spared.find((other) => this.isSameWork(call, other));
      if (recorded !== undefined) return { call, recorded };
    }
    return undefined;
  }

  /** Whether the lock file says what became of a recorded call: where it stands, or that it is gone; and not at `site`. */
  private isAccountedFor({ site, chain }: RecordedCall, now: SiteRecord): boolean {
    if (site!.tag === undefined) return false;
    if (!this.hasPlace(site!)) return isAnother(site, now);
    // Of a call that is no longer led to, the place says nothing.
    return this.buildNow().reaches(site!, chain, this.replay.record.root);
  }

  /** Whether the lock file says where a recorded call stands in this build. */
  private hasPlace({ tag }: SiteRecord): boolean {
    if (tag === undefined) return false;
    return this.code.all().some(({ places }) => places.some((place) => place.tag === tag));
  }

  /**
   * Whether a call may be a recorded one, although it is come to by other calls: those too are known to the record. A worker, say,
   * may take from a queue what another one took. What is come to by new calls is new, and without arguments nothing says otherwise.
   */
  private isOnKnownWay({ key, args, chain }: Call, recorded: RecordedCall): boolean {
    if (args === "" || isOnGoneWay(recorded.chain, this.gone())) return false;
    const [tag, tagThen] = [chain, recorded.chain].map((each) => tagsOf(each)!.at(-1)!) as [string, string];
    if (!isSameTag(tag, tagThen)) return false;
    const frame = key.slice(0, key.lastIndexOf("/") + 1);
    for (const known of this.replay.record.calls.keys()) if (known.startsWith(frame)) return true;
    return false;
  }

  private isSameWork(call: Call, recorded: RecordedCall): boolean {
    const { kind, site, args, chain } = call;
    if (site === undefined || recorded.site === undefined) return false;
    // Keys that the same text gives, one after the other, are the user's word that these are two calls.
    if (chain === "" && recorded.chain === "" && recorded.site.text === site.text) return false;
    if ((recorded.outcome ?? recorded.open)?.kind !== kind || recorded.args !== args) return false;
    const tags = tagsOf(chain);
    const tagsThen = tagsOf(recorded.chain);
    if (tags !== undefined && tagsThen?.length === tags.length)
      return tags.every((tag, level) => isSameTag(tag, tagsThen[level]!)) || this.isOnKnownWay(call, recorded);
    if (!isTheSame(recorded.site, site) && this.isAccountedFor(recorded, site)) return false;
    // With its text a call may have moved to another function.
    if (recorded.site.text === site.text) return true;
    return isSameSite(recorded.site, this.replay.record.root, site, this.present.root);
  }
}

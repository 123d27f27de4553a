/** The code that takes part in a run in this process: its modules, the workflow's own function, where places stand. */
import type { Entry } from "../../journal/entry.js";
import type { ModuleTable, Place } from "../../scope/module-table.js";
import { recordedOf, rootOf, whereabouts } from "./build.js";
import type { RunRecordView } from "./record.js";
import { sitesOf } from "./shifts.js";

export class PresentCode {
  /** The workflow's own function in this build. */
  root: string | undefined;
  /** The modules that take part, by their ids. */
  readonly tables = new Map<string, ModuleTable>();
  readonly trees = new Set<string | undefined>();
  /** Grows with each module that takes part. */
  version = 0;
  private last: ModuleTable | undefined;
  private readonly known = new Map<Place, string>();
  /** Modules that the record does not know yet. */
  private readonly news = new Map<string, ModuleTable>();
  /** Text fingerprint of each module, as the journal has it by now. */
  private readonly said: Map<string, string>;
  private rootRecorded: boolean;

  constructor(record: RunRecordView) {
    this.said = new Map(record.modules);
    this.rootRecorded = record.root !== undefined;
  }

  contribute(module: ModuleTable): void {
    if (module === this.last) return;
    this.last = module;
    const { id } = module;
    if (this.tables.get(id) !== module) {
      this.tables.set(id, module);
      this.trees.add(module.tree);
      this.version++;
    }
    if (recordedOf(this.said, module) !== module.text) this.news.set(id, module);
  }

  setRoot(module: ModuleTable, place: Place): void {
    this.root = rootOf(module, place.container === "" ? place.anchor : `${place.container}>${place.anchor}`);
  }

  /** A digest of where a place stands in this build. */
  whereabouts(module: ModuleTable, place: Place): string {
    let digest = this.known.get(place);
    if (digest === undefined) {
      digest = whereabouts(this.root, module, place);
      this.known.set(place, digest);
    }
    return digest;
  }

  get hasNews(): boolean {
    return this.news.size > 0 || !this.rootRecorded;
  }

  /** What the next entry is to say of the code. */
  takeNews(): Pick<Entry, "modules" | "root"> {
    const said: Pick<Entry, "modules" | "root"> = {};
    if (this.news.size > 0) {
      said.modules = [...this.news.values()].map((module) => {
        const { path, text, tree } = module;
        const sites = sitesOf(this.root, module);
        return tree === undefined ? [path, text, sites] : [path, text, sites, tree];
      });
      for (const [id, { text }] of this.news) this.said.set(id, text);
      this.news.clear();
    }
    if (!this.rootRecorded) {
      this.rootRecorded = true;
      said.root = this.root;
    }
    return said;
  }
}

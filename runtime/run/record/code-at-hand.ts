/**
 * The modules of this process, as far as a run is concerned. A process may have loaded two modules under one path, of
 * packages that were built apart: to a run there are only those of its own trees, and of each the very one that it goes through.
 */
import type { ModuleTable } from "../../scope/module-table.js";
import type { PresentCode } from "./present-code.js";

/** What a record says of a module. */
export interface RecordedModule extends Pick<ModuleTable, "path" | "tree"> {
  text: string;
}

const none: readonly ModuleTable[] = [];

export class CodeAtHand {
  /** @param loaded the newest tables of each module path, one of each tree */
  constructor(
    private readonly present: PresentCode,
    private readonly loaded: ReadonlyMap<string, readonly ModuleTable[]>,
  ) {}

  /** Grows when modules are loaded, or take part for the first time. */
  get version(): number {
    return this.loaded.size + this.present.version;
  }

  all(): ModuleTable[] {
    return [...this.loaded.keys()].flatMap((path) => this.at(path));
  }

  /** Whether a module is there as it was when it was recorded. */
  has({ path, tree, text }: RecordedModule): boolean {
    const current = this.current(path);
    if (current.length === 1) return current[0]!.text === text;
    const own = tree === undefined ? none : current.filter((table) => table.tree === tree);
    // Of a tree that is called otherwise by now, the path is all there is.
    const tables = own.length > 0 ? own : this.ofRun(current);
    return tables.some((table) => table.text === text);
  }

  /** The fingerprint of the module's text at a path; of all of them, if there are several. Empty if there is none. */
  textAt(path: string): string {
    const texts = this.at(path).map(({ text }) => text);
    return texts.length === 1 ? texts[0]! : texts.sort().join("+");
  }

  private at(path: string): readonly ModuleTable[] {
    return this.ofRun(this.current(path));
  }

  /** All at a path: where one takes part in the run that one, though it may have been loaded again since. */
  private current(path: string): readonly ModuleTable[] {
    const tables = this.loaded.get(path) ?? none;
    if (tables.length === 1 && this.inUse(tables[0]!) === tables[0]) return tables;
    return tables.map((table) => this.inUse(table));
  }

  private inUse(table: ModuleTable): ModuleTable {
    return this.present.tables.get(table.id) ?? table;
  }

  /** Those of trees that take part in the run; if none does, nobody knows yet which of them will. */
  private ofRun(tables: readonly ModuleTable[]): readonly ModuleTable[] {
    if (tables.length < 2) return tables;
    const own = tables.filter(({ tree }) => this.present.trees.has(tree));
    return own.length > 0 ? own : tables;
  }
}

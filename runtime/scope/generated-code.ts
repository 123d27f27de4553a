/** The door through which generated code reaches the runtime. Imported for its effect by every entry point. */
import { type ModuleTable, readTable } from "./module-table.js";
import { outsideFrame } from "./place.js";
import { state } from "./process-state.js";

// Absent too where an older copy of the package was loaded first, which tells no trees apart.
if (state.tables === undefined) {
  const tables = new Map<string, readonly ModuleTable[]>();
  state.modules.forEach((table) => {
    add(tables, table);
  });
  state.tables = tables;
  state.module = (path, text, rows, retired, tree) => {
    const table = readTable(path, text, rows, retired, tree);
    state.modules.set(path, table);
    add(tables, table);
    return outsideFrame(table);
  };
}

/**
 * A later table of one tree takes the place of the one before: the module was edited and loaded again. As in reading a
 * table, nothing here iterates.
 */
function add(tables: Map<string, readonly ModuleTable[]>, table: ModuleTable): void {
  const others = (tables.get(table.path) ?? []).filter(({ tree }) => tree !== table.tree);
  tables.set(table.path, others.concat(table));
}

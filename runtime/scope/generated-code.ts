/** The door through which generated code reaches the runtime. Imported for its effect by every entry point. */
import { readTable } from "./module-table.js";
import { outsideFrame } from "./place.js";
import { state } from "./process-state.js";

state.module ??= (path, text, rows, retired) => {
  const table = readTable(path, text, rows, retired);
  state.modules.set(path, table);
  return outsideFrame(table);
};

/** All kinds of edits. */
import { argument } from "./arguments.js";
import { classes } from "./classes.js";
import type { Edit } from "./editing.js";
import { extracting } from "./extract.js";
import { form } from "./form.js";
import { inserting } from "./insert.js";
import { moving } from "./move.js";
import { removing, swapping } from "./remove.js";
import { renaming } from "./rename.js";
import { structure } from "./structure.js";

export const edits: readonly Edit[] = [
  ...form,
  ...renaming,
  ...moving,
  ...extracting,
  ...structure,
  ...classes,
  ...inserting,
  ...removing,
  ...swapping,
  ...argument,
];

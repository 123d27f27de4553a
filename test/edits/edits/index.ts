/** All kinds of edits. */
import { argument } from "./arguments.js";
import { choosing } from "./choice.js";
import { classes } from "./classes.js";
import { durable } from "./durable.js";
import type { Edit } from "./editing.js";
import { extracting } from "./extract.js";
import { form } from "./form.js";
import { inserting } from "./insert.js";
import { keying } from "./keys.js";
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
  ...keying,
  ...choosing,
  ...durable,
];

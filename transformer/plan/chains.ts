/** Optional chains that hold a marked call and are written out. */
import type { ChainEdit } from "./shape.js";
import type { Temps } from "./temps.js";

export function planChains({ guards }: Temps): ChainEdit[] {
  return [...guards].map(([{ pos, end }, links]) => ({
    pos,
    end,
    guards: [...links].map(([link, temp]) => ({ pos: link.pos, end: link.end, temp })),
  }));
}

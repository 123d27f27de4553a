import type { Engine, Place } from "../contender.js";
import { openEngine } from "./engine.js";

export const open = (place: Place, edited: boolean): Promise<Engine> =>
  openEngine(place, edited ? "after-edit" : "before-edit");

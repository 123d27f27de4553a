import type { Engine, Place } from "../contender.js";
import { openEngine } from "./engine.js";

export const open = (place: Place): Promise<Engine> => openEngine(place, "speed");

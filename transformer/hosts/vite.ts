/** Vite, and Vitest, which runs its pipeline: `plugins: [stepmark()]`. */

import type { Plugin } from "vite";
import { type HostOptions, plugin } from "./unplugin.js";

export type { HostOptions } from "./unplugin.js";

const stepmark: (options?: HostOptions) => Plugin = plugin.vite;
export default stepmark;

/** Rollup: `plugins: [stepmark(), typescript()]`. */
import type { Plugin } from "rollup";
import { type HostOptions, plugin } from "./unplugin.js";

export type { HostOptions } from "./unplugin.js";

const stepmark: (options?: HostOptions) => Plugin = plugin.rollup;
export default stepmark;

/** Rolldown: `plugins: [stepmark()]`. */
import type { Plugin } from "rolldown";
import { type HostOptions, plugin } from "./unplugin.js";

export type { HostOptions } from "./unplugin.js";

const stepmark: (options?: HostOptions) => Plugin = plugin.rolldown;
export default stepmark;

/** esbuild: `plugins: [stepmark()]`. */
import type { Plugin } from "esbuild";
import { type HostOptions, plugin } from "./unplugin.js";

export type { HostOptions } from "./unplugin.js";

const stepmark: (options?: HostOptions) => Plugin = plugin.esbuild;
export default stepmark;

/** Rspack: `plugins: [stepmark()]`. */
import type { RspackPluginInstance } from "@rspack/core";
import { type HostOptions, plugin } from "./unplugin.js";

export type { HostOptions } from "./unplugin.js";

const stepmark: (options?: HostOptions) => RspackPluginInstance = plugin.rspack;
export default stepmark;

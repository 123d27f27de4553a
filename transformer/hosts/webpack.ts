/** webpack: `plugins: [stepmark()]`. */

import type { WebpackPluginInstance } from "webpack";
import { type HostOptions, plugin } from "./unplugin.js";

export type { HostOptions } from "./unplugin.js";

const stepmark: (options?: HostOptions) => WebpackPluginInstance = plugin.webpack;
export default stepmark;

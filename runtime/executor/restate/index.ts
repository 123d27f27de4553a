/** `stepmark/restate`. */
export { type RestateExecutorOptions, restateExecutor } from "./executor.js";
export { type RestateServiceOptions, restateService } from "./service.js";
export type { Functions } from "./wire.js";

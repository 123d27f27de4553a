/** What a realm gets of the runtime: the door for generated code, and a run that never does anything. */
import "../../runtime/scope/generated-code.js";
import { Origins } from "../../runtime/scope/origins.js";
import { inMark, type RunScope, WorkflowBody } from "../../runtime/scope/place.js";
import { state } from "../../runtime/scope/process-state.js";

/** Runs code as the body of a run, so that it opens real frames and its calls are marked. */
export function inRun<T>(body: () => T): T {
  const run: RunScope = {
    open: true,
    origins: new Origins(),
    contribute() {},
    whereabouts: () => "",
    setRoot() {},
    fatal(error) {
      throw error;
    },
  };
  state.liveRuns++;
  return inMark(new WorkflowBody(run, "run", "", null, null), body);
}

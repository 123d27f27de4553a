/** `workflow`: an async function registered by name. */
import { InvalidArgumentError, OutsideRunError } from "../errors.js";
import { shown } from "../journal/careful.js";
import { inMark, openWorkflow } from "../scope/place.js";
import { state } from "../scope/process-state.js";
import { checkName } from "./name.js";

export interface Workflow<Input = unknown, Output = unknown> {
  /** Inside a run: runs the workflow inline, as a child scope named after it. */
  (input: Input): Promise<Output>;
  readonly workflowName: string;
  /** @internal The function itself. */
  readonly body: (input: Input) => Promise<Output>;
}

/** A workflow whose input and output do not matter. */
// biome-ignore lint/suspicious/noExplicitAny: the input is contravariant
export type AnyWorkflow = Workflow<any, unknown>;

/** @throws InvalidArgumentError for what `workflow` has not made */
export function checkWorkflow(
  given: unknown,
  cure = 'Give what `workflow("name", async (input) => ...)` returned.',
): asserts given is AnyWorkflow {
  const { workflowName, body } = Object(given) as Partial<AnyWorkflow>;
  if (typeof given === "function" && typeof workflowName === "string" && typeof body === "function") return;
  throw new InvalidArgumentError(`A workflow is wanted, not ${shown(given)}`, cure);
}

/** No argument, but where nothing tells the input's type: there may be none, which the next signature finds out. */
type Typed<Input> = unknown extends Input ? [never] : [];

/** An input that may be undefined may be left out. */
// biome-ignore lint/suspicious/noConfusingVoidType: an argument that may be void may be left out
type InputOf<Input> = [undefined] extends [Input] ? Input | void : Input;

/**
 * Registers `fn` as a workflow.
 *
 * @param name unique among the workflows of an app; runs are recorded under it
 */
export function workflow<Input, Output>(
  name: string,
  fn: (input: Input) => Promise<Output>,
  ...typed: Typed<Input>
): Workflow<InputOf<Input>, Output>;
export function workflow<Output>(name: string, fn: () => Promise<Output>): Workflow<void, Output>;
export function workflow<Input, Output>(name: string, fn: (input: Input) => Promise<Output>): Workflow<Input, Output>;
export function workflow<Input, Output>(name: string, fn: (input: Input) => Promise<Output>): Workflow<Input, Output> {
  checkName("A workflow's name", name, 'Call `workflow("name", async (input) => ...)`.');
  if (typeof fn !== "function") {
    throw new InvalidArgumentError("`workflow` needs a function", 'Call `workflow("name", async (input) => ...)`.');
  }
  const inline = async (input: Input): Promise<Output> => {
    if (state.passThrough.getStore()) return fn(input);
    const scope = openWorkflow(name);
    if (scope === undefined) throw new OutsideRunError(name);
    return inMark(scope, () => fn(input));
  };
  return Object.defineProperties(inline, {
    name: { value: name },
    workflowName: { value: name, enumerable: true },
    body: { value: fn },
  }) as Workflow<Input, Output>;
}

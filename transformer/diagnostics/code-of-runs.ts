/**
 * Which functions of a file a run goes through again when it is resumed: the workflows, what leads to their steps, and
 * what they call. Bodies of steps are not among them, since their outcomes come from the record.
 */
import type ts from "typescript";
import type { Analysis } from "../plan/analysis.js";
import { exportName } from "../plan/library.js";
import type { CallRecord, FunctionRecord } from "../plan/survey.js";
import { functionLiteral, isMember, memberName, unwrap } from "../plan/syntax.js";
import type { FunctionLookup } from "./functions.js";

export interface CodeOfRuns {
  /** `flow`: a workflow, or a function that leads to steps; `helper`: one that is only called by such. */
  roleOf(record: FunctionRecord): "flow" | "helper" | undefined;
  /** Whether a call of the function makes steps, as far as the file tells. */
  leadsToSteps(record: FunctionRecord): boolean;
  /** Functions that are passed to `step`. */
  readonly bodies: ReadonlySet<FunctionRecord>;
  /** Whether a callee is a workflow of this file: `fulfil(order)`. */
  isWorkflow(callee: ts.Expression): boolean;
}

/** Methods that call their callback while the caller waits, so that its steps are the caller's. */
export const callers = new Set(
  "map flatMap forEach filter find findIndex some every reduce reduceRight sort then catch finally from all".split(" "),
);

const known = new WeakMap<Analysis, CodeOfRuns>();

/** Worked out once: other files ask for it too. */
export function codeOfRuns(analysis: Analysis, functions: FunctionLookup): CodeOfRuns {
  let runs = known.get(analysis);
  if (runs === undefined) {
    runs = findCodeOfRuns(analysis, functions);
    known.set(analysis, runs);
  }
  return runs;
}

function findCodeOfRuns(analysis: Analysis, functions: FunctionLookup): CodeOfRuns {
  const { source, found } = analysis;
  const { ts } = source;
  const bodies = new Set<FunctionRecord>();
  const workflows = new Set<FunctionRecord>();
  for (const call of found.calls) {
    if (call.sited === "step") {
      const body = bodyOf(ts, functions, call.node);
      if (body !== undefined) bodies.add(body);
    } else if (call.exported === "workflow") {
      const last = functions.meantBy(call.node.arguments?.at(-1));
      if (last !== undefined) workflows.add(last);
    }
  }

  /** Whether the function is, or stands in, a step's body of its own file. */
  const inBody = (record: FunctionRecord): boolean => {
    for (let at: FunctionRecord | undefined = record; at !== undefined; at = at.creator) {
      if (workflows.has(at)) return false;
      if (bodies.has(at)) return true;
    }
    return false;
  };

  const isWorkflow = findWorkflows(analysis);
  const leading = findLeading(analysis, functions, workflows, isWorkflow);
  const role = new Map<FunctionRecord, "flow" | "helper">();
  const queue: FunctionRecord[] = [];
  const add = (record: FunctionRecord, as: "flow" | "helper"): void => {
    if (record.kind === "module" || role.has(record)) return;
    role.set(record, as);
    queue.push(record);
  };
  for (const record of found.functions) {
    if (workflows.has(record) || (leading.has(record) && !inBody(record))) add(record, "flow");
  }
  for (const record of queue) {
    for (const inner of record.functions) if (!inBody(inner)) add(inner, role.get(record)!);
    for (const { node, sited, exported } of record.calls) {
      const called = functions.meantBy(node.expression);
      if (called !== undefined) add(called, "helper");
      // `items.map(label)`; a function handed to `step` is a body.
      if (sited !== undefined || exported === "workflow") continue;
      for (const argument of node.arguments ?? []) {
        const passed = functionLiteral(ts, argument) === undefined ? functions.meantBy(argument) : undefined;
        if (passed !== undefined && !bodies.has(passed)) add(passed, "helper");
      }
    }
  }
  return { roleOf: (record) => role.get(record), leadsToSteps: (record) => leading.has(record), bodies, isWorkflow };
}

/** `const fulfil = workflow(...)`, by what stands for it. */
function findWorkflows({ source, scopes, library }: Analysis): CodeOfRuns["isWorkflow"] {
  const { ts } = source;
  return (callee) => {
    const name = unwrap(ts, callee);
    const declaration = ts.isIdentifier(name) ? scopes.resolve(name)?.declaration : undefined;
    if (declaration === undefined || !ts.isVariableDeclaration(declaration) || !declaration.initializer) return false;
    const made = unwrap(ts, declaration.initializer);
    return ts.isCallExpression(made) && exportName(library, made.expression) === "workflow";
  };
}

/** The function that a `step` call runs. */
export function bodyOf(
  ts: Analysis["source"]["ts"],
  functions: FunctionLookup,
  node: CallRecord["node"],
): FunctionRecord | undefined {
  const [first, second] = node.arguments ?? [];
  if (first === undefined) return undefined;
  const inner = unwrap(ts, first);
  const named = ts.isStringLiteralLike(inner) || ts.isTemplateExpression(inner) || ts.isObjectLiteralExpression(inner);
  return functions.meantBy(named ? second : first);
}

/** Functions that hold a site themselves, in a callback that is called at once, or in a function that they call. */
function findLeading(
  { source, found }: Analysis,
  functions: FunctionLookup,
  workflows: ReadonlySet<FunctionRecord>,
  isWorkflow: CodeOfRuns["isWorkflow"],
): Set<FunctionRecord> {
  const { ts } = source;
  const leading = new Set<FunctionRecord>();
  const callees = new Map<FunctionRecord, FunctionRecord[]>();
  for (const record of found.functions) {
    if (record.calls.some(({ node, sited }) => sited !== undefined || isWorkflow(node.expression))) leading.add(record);
    const called = record.calls.flatMap(({ node, sited }) => {
      if (sited !== undefined) return [];
      const callee = unwrap(ts, node.expression);
      const known = isMember(ts, callee) && callers.has(memberName(ts, callee) ?? "");
      const callbacks = known ? (node.arguments ?? []).map((argument) => functions.meantBy(argument)) : [];
      return [functions.meantBy(node.expression), ...callbacks].filter((made) => made !== undefined);
    });
    if (called.length > 0) callees.set(record, called);
  }
  for (let before = -1; before < leading.size; ) {
    before = leading.size;
    for (const [record, called] of callees) {
      if (called.some((other) => leading.has(other) && !workflows.has(other))) leading.add(record);
    }
  }
  leading.delete(found.module);
  return leading;
}

/** Edits of the keys that calls have of their own. */
import ts from "typescript";
import type { Project } from "../project.js";
import { at, family } from "./editing.js";
import { contains, functionOf, isFunction, nameOf, plainSteps, steps } from "./syntax.js";

export const keying = family("key", {
  "key put on": at(
    (project) => plainSteps(project).filter(isOnce),
    (editing, call) => editing.before(call.arguments[0]!, `{ key: "the ${nameOf(call)} at ${call.pos}" }, `),
  ),
  "key taken away": at(keyed, (editing, call) =>
    editing.replaceFrom(call, call.arguments[0]!.getStart(), call.arguments[1]!.getStart(), ""),
  ),
  "key respelt": at(keyed, (editing, call) => {
    const { initializer } = keyOf(call)!;
    editing.replace(initializer, editing.text(initializer).replace(/^(.)/, "$1new "));
  }),
});

/** Steps with a key; without it they can be told apart all the same. */
function keyed(project: Project): ts.CallExpression[] {
  return steps(project).filter((call) => keyOf(call) !== undefined);
}

function keyOf({ arguments: [first] }: ts.CallExpression): ts.PropertyAssignment | undefined {
  if (first === undefined || !ts.isObjectLiteralExpression(first)) return undefined;
  return first.properties.find(
    (each): each is ts.PropertyAssignment => ts.isPropertyAssignment(each) && each.name.getText() === "key",
  );
}

/** Whether a call is made once in a run: it stands in the workflow's own function, and in no loop. */
function isOnce(call: ts.CallExpression): boolean {
  const around = functionOf(call);
  if (!isFunction(around) || !/^workflow\(/.test(around.parent.getText())) return false;
  if (!/^export const w\b/.test(statementOf(around).getText())) return false;
  for (let node = call.parent; contains(around, node) && node !== around; node = node.parent)
    if (ts.isIterationStatement(node, false)) return false;
  return true;
}

function statementOf(node: ts.Node): ts.Node {
  let at = node;
  while (!ts.isSourceFile(at.parent)) at = at.parent;
  return at;
}

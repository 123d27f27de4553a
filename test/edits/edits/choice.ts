/** Edits of what chooses the function that a step calls, and of branches. */
import ts from "typescript";
import type { Project } from "../project.js";
import { at, family } from "./editing.js";
import { addTop, fresh } from "./names.js";
import { all, descendants, isSite, listed, nameOf, plainSteps, steps } from "./syntax.js";

export const choosing = family("choice", {
  "function behind a name replaced": at(
    (project) => {
      const called = new Set(steps(project).map(nameOf));
      return all(project, ts.isVariableDeclaration).flatMap(({ name, initializer }) =>
        called.has(name.getText()) && initializer !== undefined && ts.isConditionalExpression(initializer)
          ? [initializer]
          : [],
      );
    },
    (editing, { whenTrue, whenFalse }) => {
      editing.replace(whenTrue, editing.text(whenFalse));
      editing.replace(whenFalse, editing.text(whenTrue));
    },
  ),
  "functions of a condition swapped": at(
    (project) => conditions(project),
    (editing, { whenTrue, whenFalse }) => {
      editing.replace(whenTrue, editing.text(whenFalse));
      editing.replace(whenFalse, editing.text(whenTrue));
    },
  ),
  "functions of a table swapped": at(tables, (editing, { properties }) => {
    const [one, two] = properties as unknown as [ts.PropertyAssignment, ts.PropertyAssignment];
    editing.replace(one.initializer, editing.text(two.initializer));
    editing.replace(two.initializer, editing.text(one.initializer));
  }),
  "function chosen by a condition": at(plainSteps, (editing, call) => {
    const other = fresh(editing, "otherwise");
    addTop(editing, call.getSourceFile(), `const ${other} = async (...given: any[]): Promise<any> => given;`);
    editing.wrap(call.arguments[0]!, "Math.min(1, 2) === 1 ? ", ` : ${other}`);
  }),
  "function taken from a table": at(plainSteps, (editing, call) => {
    const table = fresh(editing, "table");
    editing.before(statementAtTop(call), `const ${table} = { ${nameOf(call)} };\n`);
    editing.before(call.arguments[0]!, `${table}.`);
  }),
  "function behind another name": at(plainSteps, (editing, call) => {
    const name = fresh(editing, "chosen");
    editing.before(statementAtTop(call), `const ${name} = ${nameOf(call)};\n`);
    editing.replace(call.arguments[0]!, name);
  }),
  "condition of a branch turned round": at(
    (project) => branches(project),
    (editing, { expression, thenStatement, elseStatement }) => {
      editing.wrap(expression, "!(", ")");
      editing.replace(thenStatement, editing.text(elseStatement!));
      editing.replace(elseStatement!, editing.text(thenStatement));
    },
  ),
  "branch becomes switch": at(
    (project) => branches(project),
    (editing, branch) => {
      const { expression, thenStatement, elseStatement } = branch;
      const [condition, then, other] = [expression, thenStatement, elseStatement!].map((each) => editing.text(each));
      editing.replace(branch, `switch (Boolean(${condition})) { case true: ${then} break; default: ${other} }`);
    },
  ),
  "other branch taken": at(
    (project) => branches(project),
    (editing, { expression }) => editing.wrap(expression, "!(", ")"),
  ),
});

function conditions(project: Project): ts.ConditionalExpression[] {
  return steps(project).flatMap(({ arguments: [first] }) =>
    first !== undefined && ts.isConditionalExpression(first) ? [first] : [],
  );
}

/** Objects at the top whose values are functions. */
function tables(project: Project): ts.ObjectLiteralExpression[] {
  return all(project, ts.isObjectLiteralExpression).filter(
    ({ properties, parent }) =>
      ts.isVariableDeclaration(parent) &&
      properties.length === 2 &&
      properties.every((each) => ts.isPropertyAssignment(each) && ts.isArrowFunction(each.initializer)),
  );
}

function branches(project: Project): ts.IfStatement[] {
  return all(project, ts.isIfStatement).filter(
    (branch) =>
      branch.elseStatement !== undefined &&
      listed(branch) !== undefined &&
      [branch.thenStatement, branch.elseStatement].every((each) => descendants(each).some(isSite)),
  );
}

function statementAtTop(node: ts.Node): ts.Node {
  let at = node;
  while (!ts.isSourceFile(at.parent)) at = at.parent;
  return at;
}

/** Edits of a call itself: its arguments, options, name and form. */
import ts from "typescript";
import type { Project } from "../project.js";
import { at, family } from "./editing.js";
import { fresh } from "./names.js";
import { bodies, descendants, functionOf, inStatements, isSite, nameOf, plainSteps, steps } from "./syntax.js";

export const argument = family("arguments", {
  "argument added, name alone": at(
    (project) => plainSteps(project).filter((call) => !isShared(call)),
    (editing, call) => editing.after(call.arguments.at(-1)!, ', ...(["EUR"] as any)'),
  ),
  "argument added, name shared": at(
    (project) => plainSteps(project).filter(isShared),
    (editing, call) => editing.after(call.arguments.at(-1)!, ', ...(["EUR"] as any)'),
  ),
  "text of an argument changed": at(withArguments, (editing, call) => editing.wrap(call.arguments[1]!, "[", "][0]!")),
  "argument moved to a variable": at(
    (project) => inStatements(withArguments(project)),
    (editing, call) => {
      const name = fresh(editing, "given");
      let statement: ts.Node = call;
      while (!ts.isStatement(statement)) statement = statement.parent;
      editing.before(statement, `const ${name} = ${editing.text(call.arguments[1]!)};\n`);
      editing.replace(call.arguments[1]!, name);
    },
  ),
  "literal changed, name alone": at(
    (project) => withLiteral(project).filter((call) => !isShared(call)),
    (editing, call) => editing.replace(call.arguments[1]!, '"something else"'),
  ),
  "literal changed, name shared": at(
    (project) => withLiteral(project).filter(isShared),
    (editing, call) => editing.replace(call.arguments[1]!, '"something else"'),
  ),
  "retries added": at(plainSteps, (editing, call) => editing.before(call.arguments[0]!, "{ retries: 2 }, ")),
  "timeout added": at(plainSteps, (editing, call) => editing.before(call.arguments[0]!, '{ timeout: "1h" }, ')),
  "its own name added": at(plainSteps, (editing, call) => editing.before(call.arguments[0]!, `"${nameOf(call)}", `)),
  "another name added": at(plainSteps, (editing, call) => {
    editing.before(call.arguments[0]!, `"${nameOf(call)} it", `);
  }),
  "function becomes thunk": at(plainSteps, (editing, call) => {
    const [fn, ...args] = call.arguments;
    const text = args.map((each) => editing.text(each)).join(", ");
    editing.replaceFrom(call, fn!.getStart(), call.arguments.at(-1)!.end, `() => ${editing.text(fn!)}(${text})`);
  }),
  "thunk becomes function": at(
    (project) =>
      steps(project).filter(({ arguments: [first] }) => first !== undefined && thunkCall(first) !== undefined),
    (editing, call) => {
      const inner = thunkCall(call.arguments[0]!)!;
      const given = [inner.expression, ...inner.arguments].map((each) => editing.text(each));
      editing.replace(call.arguments[0]!, given.join(", "));
    },
  ),
  "function wrapped in an arrow": at(plainSteps, (editing, call) => {
    const [fn, ...args] = call.arguments;
    const names = args.map((_, index) => `given${index}`).join(", ");
    editing.replace(
      fn!,
      `(${args.map((_, index) => `given${index}: any`).join(", ")}) => ${editing.text(fn!)}(${names})`,
    );
  }),
  "thunk gets a block": at(
    (project) =>
      steps(project).filter(({ arguments: [first] }) => first !== undefined && thunkCall(first) !== undefined),
    (editing, call) => {
      const fn = call.arguments[0] as ts.ArrowFunction;
      editing.replace(fn.body, `{ return await ${editing.text(fn.body)}; }`);
      editing.before(fn, "async ");
    },
  ),
  "callee's body changed": at(
    (project) => bodies(project).map(({ fn }) => fn),
    (editing, { body }) => {
      const text = editing.text(body!);
      editing.replace(
        body!,
        ts.isBlock(body!)
          ? `{ const better = 1; void better; ${text.slice(1)}`
          : `{ const better = 1; void better; return ${text.startsWith("{") ? `(${text})` : text.replace(/^\(([\s\S]*)\)$/, "($1)")}; }`,
      );
    },
  ),
});

function withArguments(project: Project): ts.CallExpression[] {
  return plainSteps(project).filter((call) => call.arguments.length > 1 && !ts.isSpreadElement(call.arguments[1]!));
}

function withLiteral(project: Project): ts.CallExpression[] {
  return withArguments(project).filter((call) => ts.isStringLiteral(call.arguments[1]!));
}

function isShared(call: ts.CallExpression): boolean {
  const around = functionOf(call);
  return descendants(around).some(
    (each) => isSite(each) && each !== call && functionOf(each) === around && nameOf(each) === nameOf(call),
  );
}

function thunkCall(fn: ts.Expression): ts.CallExpression | undefined {
  if (!ts.isArrowFunction(fn) || fn.parameters.length > 0 || !ts.isCallExpression(fn.body)) return undefined;
  return fn.body;
}

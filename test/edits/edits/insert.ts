/** Edits that add calls. What is added has no marks: it is new. */
import ts from "typescript";
import { withoutMarks } from "../marks.js";
import type { Project } from "../project.js";
import { at, type Editing, family, type Way } from "./editing.js";
import { addTop, fresh } from "./names.js";
import { boundCalls, helperCalls, inStatements, listed, nameOf, plainSteps, sites, steps } from "./syntax.js";

type Where = "before" | "after";

export const inserting = family("insert", {
  "call of another function before": other("before"),
  "call of another function after": other("after"),
  "call of the same function before": same("before", true),
  "call of the same function after": same("after", true),
  "call of the same function before, its result unused": same("before", false),
  "call of the same function after, its result unused": same("after", false),
  "twin before": twin("before", true, sites),
  "twin after": twin("after", true, sites),
  "twin before, its result unused": twin("before", false, sites),
  "twin after, its result unused": twin("after", false, sites),
  "twin of a call alone, with a result": at(alone, (editing, call) => {
    editing.before(listed(call)!.statement, `const ${fresh(editing, "twin")} = await ${copy(editing, call)};\n`);
  }),
  "twin of a helper's call before": twin("before", true, helperCalls),
  "twin of a helper's call after": twin("after", true, helperCalls),
  "helper called with something else before": helper("before"),
  "helper called with something else after": helper("after"),
  "time asked for before": library("now()"),
  "pause before": library('sleep("1h")'),
  "question before": library('waitFor("more")'),
  "random value before": library("random()"),
  "loop of such calls before": at(
    (project) => inStatements(plainSteps(project)),
    (editing, call) => {
      const again = `step(${nameOf(call)}, ...([\`other \${round}\`] as any))`;
      editing.before(listed(call)!.statement, `for (const round of [1, 2]) await ${again};\n`);
    },
  ),
  "callbacks with such calls before": at(
    (project) => inStatements(plainSteps(project)),
    (editing, call) => {
      const again = `step(${nameOf(call)}, ...([\`other \${round}\`] as any))`;
      editing.before(listed(call)!.statement, `await Promise.all([1, 2].map(async (round) => ${again}));\n`);
    },
  ),
  "twin in a branch not taken": at(
    (project) => inStatements(sites(project)),
    (editing, call) => {
      editing.before(listed(call)!.statement, `if (Math.min(1, 2) === 2) await ${copy(editing, call)};\n`);
    },
  ),
  "such a call in the arguments": at(
    (project) => inStatements(plainSteps(project)).filter((call) => call.arguments.length > 1),
    (editing, call) => {
      editing.after(call.arguments.at(-1)!, `, ...((await step(${nameOf(call)}, ...(["other"] as any))) && [])`);
    },
  ),
});

function put(editing: Editing, call: ts.CallExpression, where: Where, code: string): void {
  const { statement } = listed(call)!;
  if (where === "before") editing.before(statement, `${code}\n`);
  else editing.after(statement, `\n${code}`);
}

function other(where: Where): Way {
  return at(
    (project) => inStatements(sites(project)),
    (editing, call) => {
      const name = fresh(editing, "prepare");
      const { text } = call.getSourceFile();
      const done = /import \{[^}]*\bdone\b[^}]*\} from "[^"]*bodies/.test(text)
        ? ""
        : 'import { done } from "./bodies.js";\n';
      addTop(editing, call.getSourceFile(), `${done}const ${name} = async () => done("${name}");`);
      put(editing, call, where, `await step(${name});`);
    },
  );
}

function same(where: Where, isBound: boolean): Way {
  return at(
    (project) => inStatements(plainSteps(project)),
    (editing, call) => {
      const again = `await step(${nameOf(call)}, ...(["other"] as any));`;
      put(editing, call, where, isBound ? `const ${fresh(editing, "other")} = ${again}` : again);
    },
  );
}

/** The same text again. Where neither result has a name, nobody could say which of the two is the old one. */
function twin(where: Where, isBound: boolean, calls: (project: Project) => readonly ts.CallExpression[]): Way {
  return at(
    (project) =>
      boundCalls(calls(project)).flatMap(
        ({ initializer }) => (initializer as ts.AwaitExpression).expression as ts.CallExpression,
      ),
    (editing, call) => {
      const again = `await ${copy(editing, call)};`;
      put(editing, call, where, isBound ? `const ${fresh(editing, "twin")} = ${again}` : again);
    },
  );
}

function copy(editing: Editing, call: ts.CallExpression): string {
  return withoutMarks(editing.text(call));
}

function alone(project: Project): ts.CallExpression[] {
  return inStatements(steps(project)).filter((call) => {
    const { statement } = listed(call)!;
    return ts.isExpressionStatement(statement) && statement.expression === call.parent;
  });
}

function helper(where: Where): Way {
  return at(
    (project) => inStatements(helperCalls(project)).filter((call) => call.arguments.length > 0),
    (editing, call) => {
      const again = `${editing.text(call.expression)}("other", "other")`;
      put(editing, call, where, `await (${again} as any);`);
    },
  );
}

function library(call: string): Way {
  const name = call.slice(0, call.indexOf("("));
  return at(
    (project) => inStatements(sites(project)),
    (editing, place) => {
      const file = place.getSourceFile();
      const isKnown = new RegExp(`import \\{[^}]*\\b${name}\\b[^}]*\\} from "stepmark"`).test(file.text);
      if (!isKnown) editing.insert(file, 0, `import { ${name} } from "stepmark";\n`);
      put(editing, place, "before", `await ${call};`);
    },
  );
}

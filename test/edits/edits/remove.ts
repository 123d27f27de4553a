/** Edits that take calls away, or put them in another order. */
import ts from "typescript";
import type { Project } from "../project.js";
import { at, type Editing, family, type Way } from "./editing.js";
import {
  all,
  descendants,
  functionOf,
  helperCalls,
  isAlone,
  isSimple,
  isSite,
  listed,
  nameOf,
  namesDeclared,
  namesUsed,
  sites,
} from "./syntax.js";

type Kinship = "none" | "name" | "text";

const calls = (project: Project): ts.CallExpression[] => [...sites(project), ...helperCalls(project)];

export const removing = family("delete", {
  "call alone with its name deleted": deletion("none"),
  "call that shares its name deleted": deletion("name"),
  "one of twins deleted": deletion("text"),
  "loop deleted": at(
    (project) => all(project, ts.isForOfStatement).filter((loop) => isUnused(loop)),
    (editing, loop) => editing.remove(loop),
  ),
  "call replaced by one of another function": at(
    (project) => calls(project).filter((call) => isSite(call) && deletable(call) !== undefined),
    (editing, call) => {
      const { statement } = listed(call)!;
      editing.before(statement, 'await step("instead", async () => 1);\n');
      remove(editing, call);
    },
  ),
});

export const swapping = family("swap", {
  "calls of different functions swapped": swap("none"),
  "calls of one function swapped": swap("name"),
  "twins swapped": swap("text"),
  "properties swapped": at(
    (project) =>
      all(project, ts.isPropertyAssignment).filter((property) => {
        const next = nextProperty(property);
        return next !== undefined && [property, next].every((each) => isCallOf(each.initializer));
      }),
    (editing, property) => {
      const next = nextProperty(property)!;
      const [one, two] = [editing.text(property), editing.text(next)];
      editing.replace(property, two);
      editing.replace(next, one);
    },
  ),
});

function isCallOf(value: ts.Expression): boolean {
  return ts.isAwaitExpression(value) && ts.isCallExpression(value.expression);
}

function nextProperty(property: ts.PropertyAssignment): ts.PropertyAssignment | undefined {
  const { properties } = property.parent;
  const next = properties[properties.indexOf(property) + 1];
  return next !== undefined && ts.isPropertyAssignment(next) ? next : undefined;
}

function deletion(kinship: Kinship): Way {
  return at(
    (project) => calls(project).filter((call) => deletable(call) !== undefined && kinshipOf(call) === kinship),
    (editing, call) => remove(editing, call),
  );
}

/** What has to go with a call for nothing to be missed; undefined if something else is made of its result. */
function deletable(call: ts.CallExpression): ts.Node[] | undefined {
  const at = listed(call);
  if (at === undefined || !ts.isAwaitExpression(call.parent) || isRepeatedAlone(call)) return undefined;
  const { parent } = call.parent;
  if (ts.isExpressionStatement(parent)) return [parent];
  if (!ts.isVariableDeclaration(parent) || !ts.isIdentifier(parent.name)) return undefined;
  if (!isAlone(parent)) return undefined;
  const { text } = parent.name;
  const uses = descendants(functionOf(call)).filter(
    (node) => ts.isIdentifier(node) && node.text === text && node !== parent.name,
  );
  if (!uses.every(({ parent: use }) => ts.isShorthandPropertyAssignment(use))) return undefined;
  return [at.statement, ...uses.map(({ parent: use }) => use)];
}

/** Of two equal statements side by side nobody could say which one it is that is gone. */
function isRepeatedAlone(call: ts.CallExpression): boolean {
  const { statement, list, index } = listed(call)!;
  const text = bare(statement);
  return [list[index - 1], list[index + 1]].some((each) => each !== undefined && bare(each) === text);
}

function remove(editing: Editing, call: ts.CallExpression): void {
  for (const node of deletable(call)!) {
    if (ts.isShorthandPropertyAssignment(node)) editing.replace(node, `${node.name.text}: 0`);
    else editing.remove(node);
  }
}

/** Whether other calls in its function have its name, or its text too. */
function kinshipOf(call: ts.CallExpression): Kinship {
  const others = descendants(functionOf(call)).filter(
    (each): each is ts.CallExpression =>
      ts.isCallExpression(each) &&
      each !== call &&
      functionOf(each) === functionOf(call) &&
      isSite(each) === isSite(call),
  );
  if (others.some((other) => bare(other) === bare(call))) return "text";
  return others.some((other) => nameOf(other) === nameOf(call)) ? "name" : "none";
}

function bare(node: ts.Node): string {
  return node
    .getText()
    .replace(/\/\*.*?\*\//g, "")
    .replace(/\s+/g, "");
}

function isUnused(loop: ts.ForOfStatement): boolean {
  if (listed(loop) === undefined || !descendants(loop).some(isSite)) return false;
  // What it fills is used afterwards.
  return !descendants(loop).some((each) => ts.isPropertyAccessExpression(each) && each.name.text === "push");
}

function swap(kinship: Kinship): Way {
  return at(
    (project) =>
      calls(project).filter((call) => {
        const next = nextStatement(call);
        if (next === undefined) return false;
        const others = descendants(next).filter((each): each is ts.CallExpression => isCall(project, each));
        return others.length > 0 && others.every((other) => relation(call, other) === kinship);
      }),
    (editing, call) => {
      const { statement } = listed(call)!;
      const next = nextStatement(call)!;
      const [one, two] = [editing.text(statement), editing.text(next)];
      editing.replace(statement, two);
      editing.replace(next, one);
    },
  );
}

function isCall(project: Project, node: ts.Node): node is ts.CallExpression {
  if (!ts.isCallExpression(node)) return false;
  return isSite(node) || helperCalls(project).includes(node);
}

function relation(call: ts.CallExpression, other: ts.CallExpression): Kinship {
  if (isSite(call) !== isSite(other)) return "none";
  if (bare(call) === bare(other)) return "text";
  return nameOf(call) === nameOf(other) ? "name" : "none";
}

/** The statement after that of a call, if the two may change places, and it shows. */
function nextStatement(call: ts.CallExpression): ts.Statement | undefined {
  const at = listed(call);
  if (at === undefined || !isSimple(at.statement)) return undefined;
  const next = at.list[at.index + 1];
  if (next === undefined || !isSimple(next) || bare(next) === bare(at.statement)) return undefined;
  const declared = namesDeclared(at.statement);
  return [...namesUsed(next)].some((name) => declared.has(name)) || next.getText().startsWith("log(")
    ? undefined
    : next;
}

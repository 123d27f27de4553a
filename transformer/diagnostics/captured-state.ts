/** Bodies of steps that change what belongs to the run around them: its variables, fields of its objects, their own arguments. */
import type ts from "typescript";
import { referencesIn } from "../plan/captures.js";
import { isGlobal } from "../plan/library.js";
import { type Binding, isAssignment } from "../plan/scopes.js";
import { isMember, memberName, memberRoot, propertyText, unwrap } from "../plan/syntax.js";
import { bodyOf } from "./code-of-runs.js";
import { isCollection, isCollectionValue } from "./collections.js";
import type { Finding, Rule, Subject } from "./finding.js";
import { findNodes } from "./walk.js";

export const capturedState: Rule = (subject) => [
  ...capturedVariables(subject),
  ...ownFields(subject),
  ...changedArguments(subject),
];

function capturedVariables(subject: Subject): Finding[] {
  return [...subject.runs.bodies].flatMap((body) =>
    changesIn(subject, body.node).flatMap(({ at, root, way }): Finding[] => {
      const binding = subject.source.ts.isIdentifier(root) ? subject.scopes.resolve(root) : undefined;
      if (binding === undefined || !isStateOfRun(subject, binding, body.node)) return [];
      if (way.by === "method" && !holdsCollection(subject, binding, way.members)) return [];
      if (!isReadOutside(subject, binding, body.node)) return [];
      const what = `The step's body changes \`${binding.name}\`, a variable of the workflow around it`;
      return [{ code: "STEPMARK4001", at, what }];
    }),
  );
}

/** `this.total += 1` in a body, where a workflow's code reads `this.total`. */
function ownFields(subject: Subject): Finding[] {
  const { source, runs, functions } = subject;
  const { ts, parents } = source;
  const isOwn = (node: ts.Node): node is ts.PropertyAccessExpression =>
    ts.isPropertyAccessExpression(node) && node.expression.kind === ts.SyntaxKind.ThisKeyword;
  const classAround = (node: ts.Node): ts.Node | undefined => {
    let at = parents.get(node);
    while (at !== undefined && !ts.isClassLike(at)) at = parents.get(at);
    return at;
  };
  return [...runs.bodies].flatMap((body) => {
    // Only an arrow has the `this` of what is around it.
    if (!ts.isArrowFunction(body.node)) return [];
    const home = classAround(body.node);
    if (home === undefined) return [];
    return changesIn(subject, body.node).flatMap(({ at, root, way }): Finding[] => {
      const [field] = way.members;
      if (root.kind !== ts.SyntaxKind.ThisKeyword || field === undefined || way.by === "method") return [];
      const isRead = findNodes(source, isOwn, home).some(
        (read) => read.name.text === field && runs.roleOf(functions.around(read)) !== undefined,
      );
      if (!isRead) return [];
      return [
        {
          code: "STEPMARK4001",
          at,
          what: `The step's body changes \`this.${field}\`, which the workflow's code reads`,
        },
      ];
    });
  });
}

/** `step((order) => { order.paid = true; }, order)`. */
function changedArguments(subject: Subject): Finding[] {
  const { source, scopes, found, functions } = subject;
  const { ts } = source;
  return found.calls.flatMap(({ node, sited }) => {
    const body = sited === "step" ? bodyOf(ts, functions, node) : undefined;
    if (body === undefined || !ts.isFunctionLike(body.node)) return [];
    const given = node.arguments ?? [];
    const first = given.findIndex((argument) => functions.meantBy(argument) === body) + 1;
    return body.node.parameters.flatMap((parameter, index): Finding[] => {
      const argument = given[first + index] && unwrap(ts, given[first + index]!);
      if (argument === undefined || !ts.isIdentifier(argument) || !ts.isIdentifier(parameter.name)) return [];
      const binding = scopes.resolve(argument);
      if (binding === undefined || !isStateOfRun(subject, binding, body.node)) return [];
      const isChanged = changesIn(subject, body.node).some(({ root, way }) => {
        if (!ts.isIdentifier(root) || scopes.resolve(root)?.declaration !== parameter) return false;
        if (way.by === "method") return holdsCollection(subject, binding, way.members);
        // To give the parameter another value changes nothing outside.
        return way.by === "Object.assign" || way.members.length > 0;
      });
      if (!isChanged || !isReadOutside(subject, binding, node)) return [];
      return [
        {
          code: "STEPMARK4001",
          at: argument,
          what: `The step's body changes \`${binding.name}\`, its argument, which the workflow's code goes on to use`,
        },
      ];
    });
  });
}

/** A place in a body where something is changed. */
interface Change {
  readonly at: ts.Node;
  /** The variable, or `this`, through which it is reached. */
  readonly root: ts.Expression;
  readonly way: Way;
}

interface Way {
  /** Assigned, given fields, or changed by a method of its own, as collections are. */
  readonly by: "assignment" | "Object.assign" | "method";
  /** The members from the root to what is changed, as far as the text names them. */
  readonly members: readonly string[];
}

const changers = new Set(
  "push pop shift unshift splice sort reverse fill copyWithin set add delete clear append".split(" "),
);

function changesIn(subject: Subject, body: ts.Node): Change[] {
  return findNodes(subject.source, isNode, body).flatMap((at) =>
    changedBy(subject, at).map(({ target, by }) => {
      const { ts } = subject.source;
      return { at, root: memberRoot(ts, target), way: { by, members: membersTo(ts, target) } };
    }),
  );
}

const isNode = (node: ts.Node): node is ts.Node => node !== undefined;

function membersTo(ts: Subject["source"]["ts"], target: ts.Expression): string[] {
  const node = unwrap(ts, target);
  return isMember(ts, node) ? [...membersTo(ts, node.expression), memberName(ts, node) ?? "[]"] : [];
}

/** What an expression assigns to, or the object that it changes. */
function changedBy({ source, scopes }: Subject, node: ts.Node): Array<{ target: ts.Expression; by: Way["by"] }> {
  const { ts } = source;
  const assigned = (target: ts.Expression): Array<{ target: ts.Expression; by: Way["by"] }> =>
    targetsOf(ts, target).map((each) => ({ target: each, by: "assignment" }));
  if (ts.isBinaryExpression(node) && isAssignment(ts, node.operatorToken.kind)) return assigned(node.left);
  if (ts.isPrefixUnaryExpression(node) || ts.isPostfixUnaryExpression(node)) {
    const { PlusPlusToken, MinusMinusToken } = ts.SyntaxKind;
    const changes = node.operator === PlusPlusToken || node.operator === MinusMinusToken;
    return changes ? assigned(node.operand) : [];
  }
  if (ts.isDeleteExpression(node)) return assigned(node.expression);
  if (!ts.isCallExpression(node)) return [];
  const callee = unwrap(ts, node.expression);
  if (!isMember(ts, callee)) return [];
  const name = memberName(ts, callee) ?? "";
  if (name === "assign" && isGlobal(source, scopes, unwrap(ts, callee.expression), "Object") && node.arguments[0]) {
    return [{ target: node.arguments[0], by: "Object.assign" }];
  }
  return changers.has(name) ? [{ target: callee.expression, by: "method" }] : [];
}

/** The places that an assignment fills. */
function targetsOf(ts: Subject["source"]["ts"], target: ts.Expression): ts.Expression[] {
  const inner = unwrap(ts, target);
  if (ts.isArrayLiteralExpression(inner)) return inner.elements.flatMap((element) => targetsOf(ts, element));
  if (ts.isObjectLiteralExpression(inner)) {
    return inner.properties.flatMap((property) => {
      if (ts.isShorthandPropertyAssignment(property)) return [property.name];
      return ts.isPropertyAssignment(property) ? targetsOf(ts, property.initializer) : [];
    });
  }
  return [inner];
}

/** Whether each pass of the run makes the variable anew: it is declared outside the body, in code of the run. */
function isStateOfRun({ source, runs, found }: Subject, { scope, kind }: Binding, body: ts.Node): boolean {
  if (kind === "import" || kind === "type" || kind === "function" || kind === "class") return false;
  const { owner } = scope;
  for (let at: ts.Node | undefined = owner; at !== undefined; at = source.parents.get(at))
    if (at === body) return false;
  const record = found.functions.find(({ node }) => node === owner);
  return record !== undefined && runs.roleOf(record) !== undefined;
}

/** Whether what a variable holds at the end of some members is a collection, and not a client of something outside. */
function holdsCollection({ source }: Subject, binding: Binding, members: readonly string[]): boolean {
  if (members.length === 0) return isCollection(source, binding);
  const { ts } = source;
  const { declaration } = binding;
  let value = ts.isVariableDeclaration(declaration) ? declaration.initializer : undefined;
  for (const member of members) {
    const inner = value && unwrap(ts, value);
    if (inner === undefined || !ts.isObjectLiteralExpression(inner)) return false;
    const property = inner.properties.find((each) => each.name !== undefined && propertyText(ts, each.name) === member);
    value = property !== undefined && ts.isPropertyAssignment(property) ? property.initializer : undefined;
  }
  return value !== undefined && isCollectionValue(ts, value);
}

/** A variable that the body alone reads is the body's own affair. */
function isReadOutside({ source, scopes }: Subject, binding: Binding, body: ts.Node): boolean {
  return referencesIn(source, binding.scope.owner).some((read) => {
    if (read.text !== binding.name || (read.pos >= body.pos && read.end <= body.end)) return false;
    return scopes.resolve(read) === binding;
  });
}

/** Bodies of steps that change variables of the run around them. */
import type ts from "typescript";
import { referencesIn } from "../plan/captures.js";
import { type Binding, isAssignment } from "../plan/scopes.js";
import { isMember, memberName, memberRoot, unwrap } from "../plan/syntax.js";
import type { Rule, Subject } from "./finding.js";
import { findNodes } from "./walk.js";

export const capturedState: Rule = (subject) => {
  const { source, runs } = subject;
  return [...runs.bodies].flatMap((body) =>
    findNodes(source, isNode, body.node).flatMap((node) => {
      const target = changedBy(subject, node);
      const binding = target && subject.scopes.resolve(target.name);
      if (binding === undefined || !isStateOfRun(subject, binding, body.node)) return [];
      if (target!.method && !isCollection(subject, binding)) return [];
      if (!isReadElsewhere(subject, binding, body.node)) return [];
      const what = `The step's body changes \`${binding.name}\`, a variable of the workflow around it`;
      return [{ code: "STEPMARK4001" as const, at: node, what }];
    }),
  );
};

const isNode = (node: ts.Node): node is ts.Node => node !== undefined;

interface Target {
  readonly name: ts.Identifier;
  /** Whether it is changed by a method of its own, as collections are. */
  readonly method: boolean;
}

const changers = new Set(
  "push pop shift unshift splice sort reverse fill copyWithin set add delete clear append".split(" "),
);

/** The variable that an expression assigns to, or whose object it changes. */
function changedBy({ source }: Subject, node: ts.Node): Target | undefined {
  const { ts } = source;
  if (ts.isBinaryExpression(node) && isAssignment(ts, node.operatorToken.kind)) return targetOf(ts, node.left);
  if (ts.isPrefixUnaryExpression(node) || ts.isPostfixUnaryExpression(node)) {
    const { PlusPlusToken, MinusMinusToken } = ts.SyntaxKind;
    const changes = node.operator === PlusPlusToken || node.operator === MinusMinusToken;
    return changes ? targetOf(ts, node.operand) : undefined;
  }
  if (ts.isDeleteExpression(node)) return targetOf(ts, node.expression);
  if (!ts.isCallExpression(node)) return undefined;
  const callee = unwrap(ts, node.expression);
  if (!isMember(ts, callee) || !changers.has(memberName(ts, callee) ?? "")) return undefined;
  const root = memberRoot(ts, callee.expression);
  const direct = root === unwrap(ts, callee.expression);
  return ts.isIdentifier(root) && direct ? { name: root, method: true } : undefined;
}

function targetOf(ts: Subject["source"]["ts"], target: ts.Expression): Target | undefined {
  const inner = unwrap(ts, target);
  if (ts.isArrayLiteralExpression(inner)) return first(inner.elements.map((element) => targetOf(ts, element)));
  if (ts.isObjectLiteralExpression(inner)) {
    return first(
      inner.properties.map((property) => {
        if (ts.isShorthandPropertyAssignment(property)) return { name: property.name, method: false };
        return ts.isPropertyAssignment(property) ? targetOf(ts, property.initializer) : undefined;
      }),
    );
  }
  const root = memberRoot(ts, inner);
  return ts.isIdentifier(root) ? { name: root, method: false } : undefined;
}

function first<T>(items: readonly (T | undefined)[]): T | undefined {
  return items.find((item) => item !== undefined);
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

/** Whether the variable is one whose `push`, `set` or `add` changes what is in memory, and not a client of something outside. */
function isCollection({ source }: Subject, { declaration }: Binding): boolean {
  const { ts } = source;
  if (!ts.isVariableDeclaration(declaration) && !ts.isParameter(declaration)) return false;
  const { type, initializer } = declaration;
  if (type !== undefined && ts.isArrayTypeNode(type)) return true;
  if (type !== undefined && ts.isTypeReferenceNode(type) && ts.isIdentifier(type.typeName)) {
    return collections.has(type.typeName.text);
  }
  const value = initializer && unwrap(ts, initializer);
  if (value === undefined) return false;
  if (ts.isArrayLiteralExpression(value)) return true;
  return ts.isNewExpression(value) && ts.isIdentifier(value.expression) && collections.has(value.expression.text);
}

const collections = new Set("Array Map Set WeakMap WeakSet".split(" "));

/** A variable that the body alone reads is the body's own affair. */
function isReadElsewhere({ source, scopes }: Subject, binding: Binding, body: ts.Node): boolean {
  return referencesIn(source, binding.scope.owner).some((read) => {
    if (read.text !== binding.name || (read.pos >= body.pos && read.end <= body.end)) return false;
    return scopes.resolve(read) === binding;
  });
}

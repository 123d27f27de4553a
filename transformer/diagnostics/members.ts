/** What a member of a class or an object of the same file holds: `this.pay`, `new Cart().pay`, `Cart.open`, `handlers.pay`. */
import type ts from "typescript";
import type { Binding, Scopes } from "../plan/scopes.js";
import { memberName, propertyText, type Source, unwrap } from "../plan/syntax.js";

type Member = ts.PropertyAccessExpression | ts.ElementAccessExpression;

/** Where a name is looked for: in an object, in a class itself, or in what is made of the class. */
interface Holder {
  readonly node: ts.ObjectLiteralExpression | ts.ClassLikeDeclaration;
  readonly isStatic: boolean;
}

/**
 * Answers a method, or the expression that a field or property is given; undefined for what the file's text does not tell.
 * Classes that extend the one that is seen here, and what is assigned later, are not looked for.
 */
export function readMembers(
  { ts, parents }: Pick<Source, "ts" | "parents">,
  scopes: Scopes,
): (member: Member) => ts.MethodDeclaration | ts.Expression | undefined {
  const held = (member: Member): ts.MethodDeclaration | ts.Expression | undefined => {
    const name = memberName(ts, member);
    const seen = new Set<ts.Node>();
    let holder = name === undefined ? undefined : holderOf(member.expression);
    for (; holder !== undefined && !seen.has(holder.node); holder = baseOf(holder)) {
      seen.add(holder.node);
      const found = membersOf(holder).find((each) => each.name !== undefined && propertyText(ts, each.name) === name);
      if (found !== undefined) return valueIn(found);
    }
    return undefined;
  };

  const membersOf = ({ node, isStatic }: Holder): readonly (ts.ClassElement | ts.ObjectLiteralElementLike)[] => {
    if (ts.isObjectLiteralExpression(node)) return node.properties;
    return node.members.filter((member) => isOfClass(member) === isStatic && !isSignature(member));
  };

  const isSignature = (member: ts.Node): boolean => ts.isMethodDeclaration(member) && member.body === undefined;

  const valueIn = (found: ts.Node): ts.MethodDeclaration | ts.Expression | undefined => {
    if (ts.isMethodDeclaration(found)) return found;
    if (ts.isPropertyDeclaration(found) || ts.isPropertyAssignment(found)) return found.initializer;
    return ts.isShorthandPropertyAssignment(found) ? found.name : undefined;
  };

  /** @param seen constants that have led here, which may be told by each other */
  const holderOf = (expression: ts.Expression, seen: ReadonlySet<Binding> = new Set()): Holder | undefined => {
    const node = unwrap(ts, expression);
    if (node.kind === ts.SyntaxKind.ThisKeyword) return around(node);
    if (node.kind === ts.SyntaxKind.SuperKeyword) {
      const own = around(node);
      return own && baseOf(own);
    }
    if (ts.isObjectLiteralExpression(node)) return { node, isStatic: false };
    if (ts.isClassExpression(node)) return { node, isStatic: true };
    if (ts.isNewExpression(node)) {
      const made = holderOf(node.expression, seen);
      return made?.isStatic ? { node: made.node, isStatic: false } : undefined;
    }
    return ts.isIdentifier(node) ? ofName(node, seen) : undefined;
  };

  /** A class, or a constant that stands for what has members. */
  const ofName = (name: ts.Identifier, seen: ReadonlySet<Binding>): Holder | undefined => {
    const binding = scopes.resolve(name);
    if (binding === undefined || binding.reassigned || seen.has(binding)) return undefined;
    const { declaration, kind } = binding;
    if (kind === "class" && ts.isClassLike(declaration)) return { node: declaration, isStatic: true };
    if (kind !== "const" || !ts.isVariableDeclaration(declaration) || !ts.isIdentifier(declaration.name))
      return undefined;
    return declaration.initializer && holderOf(declaration.initializer, new Set([...seen, binding]));
  };

  /** What `this` means at a node: what the method or field around belongs to. */
  const around = (node: ts.Node): Holder | undefined => {
    let child = node;
    for (let at = parents.get(node); at !== undefined; child = at, at = parents.get(at)) {
      if (ts.isClassLike(at)) return ts.isClassElement(child) ? { node: at, isStatic: isOfClass(child) } : undefined;
      if (ts.isObjectLiteralExpression(at) && ts.isMethodDeclaration(child)) return { node: at, isStatic: false };
      if (ts.isFunctionDeclaration(at) || ts.isFunctionExpression(at)) return undefined;
    }
    return undefined;
  };

  const isOfClass = (member: ts.Node): boolean =>
    ts.isClassStaticBlockDeclaration(member) ||
    (ts.canHaveModifiers(member) &&
      (member.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.StaticKeyword) ?? false));

  const baseOf = ({ node, isStatic }: Holder): Holder | undefined => {
    if (ts.isObjectLiteralExpression(node)) return undefined;
    const clause = node.heritageClauses?.find(({ token }) => token === ts.SyntaxKind.ExtendsKeyword);
    const holder = clause?.types[0] && holderOf(clause.types[0].expression);
    return holder?.isStatic ? { node: holder.node, isStatic } : undefined;
  };

  return held;
}

/**
 * One walk over a file that finds every function, loop and call, and what surrounds each: the function whose code it is,
 * the loops between the two, and the frame in which functions written there are created.
 */
import type ts from "typescript";
import { isSpecialForm, staysAsIs } from "./builtins.js";
import { exportName, isInert, isSitedName, type Library, type SitedName } from "./library.js";
import { isStableReceiver, receiverOf } from "./receivers.js";
import { isAssignment, type Scopes } from "./scopes.js";
import {
  canBeErased,
  type FunctionNode,
  forEachPart,
  functionLiteral,
  isErased,
  isFunctionLike,
  isFunctionNode,
  isLoop,
  type LoopNode,
  ofKind,
  outermostLink,
  parentPastWrappers,
  propertyText,
  type Source,
  unwrap,
} from "./syntax.js";

/** A function, or what stands for one: the module, or the initialiser of a class field. */
export interface FunctionRecord {
  readonly kind: "module" | "function" | "field";
  readonly node: ts.SourceFile | FunctionNode | ts.PropertyDeclaration;
  /** The function in whose frame this one is created; undefined for the module. */
  readonly creator: FunctionRecord | undefined;
  /** Loops of the creator around the place of creation. */
  readonly creation: readonly LoopPlace[];
  /** Classes and namespaces between the function and its creator: `Cart.`. */
  readonly prefix: string;
  /** Whether it stands in a `with`, where names cannot be resolved. */
  readonly inWith: boolean;
  readonly calls: CallRecord[];
  readonly functions: FunctionRecord[];
}

export interface LoopRecord {
  readonly node: LoopNode;
  /** The loop with its labels. */
  readonly statement: ts.Statement;
  readonly owner: FunctionRecord;
  /** The parts that it has, save a plain name as binding. */
  readonly parts: ReadonlySet<LoopPlace["part"]>;
  /** As of a function. */
  readonly inWith: boolean;
}

/** The part of a loop that a place is in. */
export interface LoopPlace {
  readonly loop: LoopRecord;
  readonly part: "body" | "test" | "update" | "binding";
}

/** An initialiser outside any body: of a parameter, a binding in one, or a class field. */
export interface Zone {
  readonly expression: ts.Expression;
  /** Whether the expression gets its name from where it stands, which wrapping would take away. */
  readonly namesItself: boolean;
}

export interface CallRecord {
  readonly node: ts.CallExpression | ts.NewExpression;
  readonly owner: FunctionRecord;
  readonly loops: readonly LoopPlace[];
  readonly zone: Zone | undefined;
  /** The export of the library that is called. */
  readonly exported: string | undefined;
  readonly sited: SitedName | undefined;
  /** Whether the call is left alone, gets a mark, or is a site. */
  role: "none" | "mark" | "site";
}

export interface Survey {
  readonly module: FunctionRecord;
  /** In source order; a function before those inside it. The module comes first. */
  readonly functions: readonly FunctionRecord[];
  readonly loops: readonly LoopRecord[];
  readonly calls: readonly CallRecord[];
  /**
   * Whether the file has an early error that our edits would hide: a loop with a declaration as its body, which would
   * get a block around it, or a `new` that is assigned to, which would become a call.
   */
  readonly invalid: boolean;
}

/** What surrounds the node being visited. */
interface Surroundings {
  /** The function whose code this is. */
  readonly owner: FunctionRecord;
  /** Loops of `owner` around. */
  readonly loops: readonly LoopPlace[];
  /** The function in whose frame functions written here are created, and its loops around. */
  readonly creator: FunctionRecord;
  readonly creation: readonly LoopPlace[];
  readonly zone: Zone | undefined;
  readonly prefix: string;
  /** Whether calls here get no mark (decorators), or nothing at all (`with`, where names cannot be resolved). */
  readonly quiet: "no" | "marks" | "all";
}

/** @param force marks calls that cannot lead to a step as well */
export function survey(source: Source, scopes: Scopes, library: Library, force = false): Survey {
  const { ts } = source;
  const functions: FunctionRecord[] = [];
  const loops: LoopRecord[] = [];
  const calls: CallRecord[] = [];
  let invalid = false;

  const record = (
    kind: FunctionRecord["kind"],
    node: FunctionRecord["node"],
    at: Surroundings | undefined,
  ): FunctionRecord => {
    const made: FunctionRecord = {
      kind,
      node,
      creator: at?.creator,
      creation: at?.creation ?? [],
      prefix: at?.prefix ?? "",
      inWith: at?.quiet === "all",
      calls: [],
      functions: [],
    };
    functions.push(made);
    at?.creator.functions.push(made);
    return made;
  };

  const visitChildren = (node: ts.Node, at: Surroundings): void => {
    forEachPart(ts, node, (part) => visit(part, at));
  };

  const visit = (node: ts.Node, at: Surroundings): void => {
    if (!concernsSurvey(ts, node)) return visitChildren(node, at);
    if (isErased(ts, node) || ts.isEnumDeclaration(node)) return;
    if (isFunctionNode(ts, node)) return visitFunction(node, at);
    if (ts.isClassLike(node)) return visitClass(node, at);
    if (ts.isDecorator(node)) return visitChildren(node, { ...at, quiet: at.quiet === "all" ? "all" : "marks" });
    if (ts.isWithStatement(node)) {
      visit(node.expression, at);
      return visit(node.statement, { ...at, quiet: "all" });
    }
    if (ts.isLabeledStatement(node) || isLoop(ts, node)) return visitLabelled(node, node, at);
    if (ts.isModuleDeclaration(node) && node.body !== undefined) {
      return visit(node.body, { ...at, prefix: `${at.prefix}${node.name.text}.` });
    }
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) visitCall(node, at);
    visitChildren(node, at);
  };

  const visitCall = (node: ts.CallExpression | ts.NewExpression, at: Surroundings): void => {
    const { owner, loops, zone, quiet } = at;
    const exported = exportName(library, node.expression);
    const sited = ts.isCallExpression(node) && quiet !== "all" && isSitedName(exported) ? exported : undefined;
    const call: CallRecord = { node, owner, loops, zone, exported, sited, role: "none" };
    if (sited !== undefined) call.role = "site";
    else if (quiet === "no" && canBeMarked(call)) call.role = "mark";
    invalid ||= ts.isNewExpression(node) && isTarget(source, node);
    calls.push(call);
    owner.calls.push(call);
  };

  const canBeMarked = ({ node, owner, zone, exported }: CallRecord): boolean => {
    if (owner.kind === "module" || isSpecialForm(source, scopes, node)) return false;
    if (!force && staysAsIs(source, scopes, node)) return false;
    if (ts.isNewExpression(node)) return true;
    if (exported !== undefined && isInert(exported)) return false;
    const chain = outermostLink(source, node);
    if (chain !== undefined && isDeleted(source, chain)) return false;
    const receiver = receiverOf(ts, node);
    if (receiver === "in closed chain") return false;
    const needsTemp = chain !== undefined || (receiver !== undefined && !isStableReceiver(source, scopes, receiver));
    return !(needsTemp && zone?.namesItself);
  };

  const visitFunction = (node: FunctionNode, at: Surroundings): void => {
    const made = record("function", node, at);
    const inside: Surroundings = {
      owner: made,
      loops: [],
      creator: made,
      creation: [],
      zone: undefined,
      prefix: "",
      quiet: at.quiet === "all" ? "all" : "no",
    };
    if (ts.isClassStaticBlockDeclaration(node)) return visitChildren(node.body, inside);
    for (const modifier of node.modifiers ?? []) visit(modifier, at);
    if (node.name !== undefined) visit(node.name, at);
    for (const parameter of node.parameters) {
      for (const modifier of parameter.modifiers ?? []) visit(modifier, at);
      visitParameter(parameter, made, at);
    }
    if (ts.isBlock(node.body!)) visitChildren(node.body, inside);
    else visit(node.body!, inside);
  };

  const visitParameter = (node: ts.ParameterDeclaration, owner: FunctionRecord, at: Surroundings): void => {
    const visitName = (name: ts.BindingName): void => {
      if (ts.isIdentifier(name)) return;
      for (const element of name.elements) {
        if (!ts.isBindingElement(element)) continue;
        const { propertyName } = element;
        if (propertyName !== undefined && ts.isComputedPropertyName(propertyName)) {
          visitInitialiser(propertyName.expression, owner, at);
        }
        visitName(element.name);
        if (element.initializer !== undefined) visitInitialiser(element.initializer, owner, at);
      }
    };
    visitName(node.name);
    if (node.initializer !== undefined) visitInitialiser(node.initializer, owner, at);
  };

  /** Code of `owner` that stands outside its body: it sees the frame in which `owner` was created, not its own. */
  const visitInitialiser = (expression: ts.Expression, owner: FunctionRecord, at: Surroundings): void => {
    const inner = unwrap(ts, expression);
    const zone: Zone = { expression, namesItself: ts.isClassExpression(inner) && inner.name === undefined };
    const quiet = at.quiet === "all" ? "all" : "no";
    visit(expression, { ...at, owner, loops: [], zone, quiet });
  };

  const visitClass = (node: ts.ClassLikeDeclaration, at: Surroundings): void => {
    for (const modifier of node.modifiers ?? []) visit(modifier, at);
    for (const clause of node.heritageClauses ?? []) visit(clause, at);
    const prefix = `${at.prefix}${className(source, node)}.`;
    for (const member of node.members) {
      if (!ts.isPropertyDeclaration(member)) {
        if (!isErased(ts, member)) visitMember(member, at, prefix);
        continue;
      }
      if (isErased(ts, member)) continue;
      for (const modifier of member.modifiers ?? []) visit(modifier, at);
      visit(member.name, at);
      if (member.initializer === undefined) continue;
      if (functionLiteral(ts, member.initializer) !== undefined) visit(member.initializer, { ...at, prefix });
      else visitInitialiser(member.initializer, record("field", member, { ...at, prefix }), { ...at, prefix });
    }
  };

  /** The name of a member, its decorators and those of its parameters are code around the class. */
  const visitMember = (member: ts.ClassElement, at: Surroundings, prefix: string): void => {
    visit(member, isFunctionLike(ts, member) || ts.isClassStaticBlockDeclaration(member) ? { ...at, prefix } : at);
  };

  const visitLabelled = (node: ts.Statement, statement: ts.Statement, at: Surroundings): void => {
    if (ts.isLabeledStatement(node)) {
      if (ts.isLabeledStatement(node.statement) || isLoop(ts, node.statement)) {
        return visitLabelled(node.statement, statement, at);
      }
      return visit(node.statement, at);
    }
    if (isLoop(ts, node)) visitLoop(node, statement, at);
  };

  const visitLoop = (node: LoopNode, statement: ts.Statement, at: Surroundings): void => {
    const parts = new Set<LoopPlace["part"]>();
    const loop: LoopRecord = { node, statement, owner: at.owner, parts, inWith: at.quiet === "all" };
    loops.push(loop);
    invalid ||= isDeclaration(ts, node.statement);
    const inside = (part: LoopPlace["part"]): Surroundings => {
      const place: LoopPlace = { loop, part };
      return { ...at, loops: [...at.loops, place], creation: [...at.creation, place] };
    };
    const visitPart = (child: ts.Node | undefined, part: LoopPlace["part"]): void => {
      if (child === undefined) return;
      if (part !== "binding" || !bindsName(ts, child)) parts.add(part);
      visit(child, inside(part));
    };
    if (ts.isForStatement(node)) {
      if (node.initializer !== undefined) visit(node.initializer, at);
      visitPart(node.condition, "test");
      visitPart(node.incrementor, "update");
    } else if (ts.isForOfStatement(node) || ts.isForInStatement(node)) {
      const [first] = ts.isVariableDeclarationList(node.initializer) ? node.initializer.declarations : [];
      // `for (var x = f() in o)`, legal in sloppy code, calls `f` once.
      if (first?.initializer !== undefined) visit(first.initializer, at);
      else visitPart(node.initializer, "binding");
      visit(node.expression, at);
    } else if (ts.isWhileStatement(node)) {
      visitPart(node.expression, "test");
    }
    visitPart(node.statement, "body");
    if (ts.isDoStatement(node)) visitPart(node.expression, "test");
  };

  const module = record("module", source.file, undefined);
  visitChildren(source.file, {
    owner: module,
    loops: [],
    creator: module,
    creation: [],
    zone: undefined,
    prefix: "",
    quiet: "no",
  });
  markWholeChains(source, calls);
  return { module, functions, loops, calls, invalid };
}

/** Whether the node is looked for, or code in it has other surroundings. Most are not. */
const concernsSurvey = ofKind(
  (ts, node) =>
    canBeErased(ts, node) ||
    isFunctionLike(ts, node) ||
    isLoop(ts, node) ||
    ts.isLabeledStatement(node) ||
    ts.isCallExpression(node) ||
    ts.isNewExpression(node) ||
    ts.isClassStaticBlockDeclaration(node) ||
    ts.isDecorator(node) ||
    ts.isWithStatement(node),
);

/** A chain that is written out for the sake of one marked call gets marks on its other calls too. */
function markWholeChains(source: Source, calls: readonly CallRecord[]): void {
  const chains = new Map<ts.Node, CallRecord[]>();
  for (const call of calls) {
    const chain = outermostLink(source, call.node);
    if (chain !== undefined) chains.set(chain, [...(chains.get(chain) ?? []), call]);
  }
  for (const links of chains.values()) {
    if (!links.some((call) => call.role === "mark")) continue;
    for (const call of links) if (call.role === "none") call.role = "mark";
  }
}

/** Whether something is assigned to the expression itself. */
function isTarget(source: Source, node: ts.Expression): boolean {
  const { ts } = source;
  const { parent, child } = parentPastWrappers(source, node);
  if (parent === undefined) return false;
  if (ts.isBinaryExpression(parent)) return parent.left === child && isAssignment(ts, parent.operatorToken.kind);
  if (ts.isForOfStatement(parent) || ts.isForInStatement(parent)) return parent.initializer === child;
  const { PlusPlusToken, MinusMinusToken } = ts.SyntaxKind;
  if (!ts.isPrefixUnaryExpression(parent) && !ts.isPostfixUnaryExpression(parent)) return false;
  return parent.operator === PlusPlusToken || parent.operator === MinusMinusToken;
}

/** Also `a: function f() {}`. */
function isDeclaration(ts: Source["ts"], statement: ts.Statement): boolean {
  let inner = statement;
  while (ts.isLabeledStatement(inner)) inner = inner.statement;
  if (ts.isFunctionDeclaration(inner) || ts.isClassDeclaration(inner)) return true;
  return ts.isVariableStatement(inner) && (inner.declarationList.flags & ts.NodeFlags.BlockScoped) !== 0;
}

/** `const x` in `for (const x of xs)`, or `x`. */
function bindsName(ts: Source["ts"], head: ts.Node): boolean {
  const target = ts.isVariableDeclarationList(head) ? head.declarations[0]?.name : head;
  return target === undefined || ts.isIdentifier(target);
}

function isDeleted(source: Source, chain: ts.Node): boolean {
  const { parent } = parentPastWrappers(source, chain);
  return parent !== undefined && source.ts.isDeleteExpression(parent);
}

/** A class's own name, or the name of what it is assigned to. */
function className(source: Source, node: ts.ClassLikeDeclaration): string {
  return node.name?.text ?? assignedName(source, node) ?? "class";
}

/** The name that an anonymous function or class gets from where it stands. */
export function assignedName(source: Source, node: ts.Node): string | undefined {
  const { ts } = source;
  const { parent, child } = parentPastWrappers(source, node);
  if (parent === undefined) return undefined;
  if (ts.isVariableDeclaration(parent) || ts.isParameter(parent) || ts.isBindingElement(parent)) {
    return ts.isIdentifier(parent.name) ? parent.name.text : undefined;
  }
  if (ts.isPropertyAssignment(parent) || ts.isPropertyDeclaration(parent)) return propertyText(ts, parent.name);
  if (ts.isBinaryExpression(parent) && parent.right === child) {
    if (!/^(\|\||&&|\?\?)?=$/.test(ts.tokenToString(parent.operatorToken.kind) ?? "")) return undefined;
    const target = unwrap(ts, parent.left);
    if (ts.isIdentifier(target)) return target.text;
    return ts.isPropertyAccessExpression(target) ? target.name.text : undefined;
  }
  if (ts.isExportAssignment(parent)) return parent.isExportEquals ? "exports" : "default";
  return undefined;
}

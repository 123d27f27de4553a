/** Whether some path through a block leaves it without having met a variable. */
import type ts from "typescript";
import type { Binding } from "../plan/scopes.js";
import { isLoop, type Source } from "../plan/syntax.js";

/**
 * The `return` (or the end of a block) that is reached from a variable's declaration without passing any of its reads.
 * Where the syntax cannot tell (loops, `switch`, `try`), what may read it counts as if it did; a `throw` is no such path, since a
 * failing run waits for its steps by itself.
 *
 * @param reads where the variable is read; at least one
 */
export function pathThatMisses(
  source: Source,
  { declaration, kind, reassigned }: Binding,
  reads: readonly ts.Identifier[],
): ts.Node | undefined {
  const { ts, parents } = source;
  if (reassigned || (kind !== "const" && kind !== "let") || !ts.isVariableDeclaration(declaration)) return undefined;
  const statement = parents.get(parents.get(declaration)!);
  const block = statement && parents.get(statement);
  if (statement === undefined || block === undefined || !ts.isVariableStatement(statement)) return undefined;
  if (!ts.isBlock(block)) return undefined;
  // A closure that reads it may be called at any time.
  const owner = functionAround(source, declaration);
  if (reads.some((read) => functionAround(source, read) !== owner)) return undefined;
  const readIn = (node: ts.Node): boolean => reads.some((read) => read.pos >= node.pos && read.end <= node.end);
  const after = block.statements.slice(block.statements.indexOf(statement));
  return new PathSearch(ts, readIn).missesIn(after, block);
}

function functionAround({ ts, parents }: Source, node: ts.Node): ts.Node | undefined {
  let at = parents.get(node);
  while (at !== undefined && !ts.isFunctionLike(at)) at = parents.get(at);
  return at;
}

/** What is known after a statement: whether the variable has been read, and whether control gets there at all. */
interface After {
  readonly read: boolean;
  readonly ends: boolean;
}

class PathSearch {
  private missed: ts.Node | undefined;

  constructor(
    private readonly ts: Source["ts"],
    private readonly readIn: (node: ts.Node) => boolean,
  ) {}

  missesIn(statements: readonly ts.Statement[], block: ts.Block): ts.Node | undefined {
    const { read, ends } = this.sequence(statements, false);
    if (this.missed !== undefined) return this.missed;
    if (read || ends) return undefined;
    // The last statement is where the path is easiest to see.
    return block.statements.at(-1);
  }

  private sequence(statements: readonly ts.Statement[], read: boolean): After {
    let after: After = { read, ends: false };
    for (const statement of statements) {
      after = this.statement(statement, after.read);
      if (after.ends) break;
    }
    return after;
  }

  private statement(node: ts.Statement, read: boolean): After {
    const { ts, readIn } = this;
    if (read || !mayLeave(ts, node)) return { read: read || readIn(node), ends: endsControl(ts, node) };
    if (ts.isReturnStatement(node)) {
      const reads = readIn(node);
      if (!reads) this.missed ??= node;
      return { read: reads, ends: true };
    }
    if (ts.isBlock(node)) return this.sequence(node.statements, read);
    if (ts.isLabeledStatement(node)) return this.statement(node.statement, read);
    if (ts.isIfStatement(node)) return this.choice(node, read || readIn(node.expression));
    if (ts.isTryStatement(node)) return this.attempt(node, read);
    if (isLoop(ts, node)) {
      const { statement } = node;
      const head = readIn(node) && !readIn(statement);
      this.statement(statement, read || head);
      return { read: readIn(node), ends: false };
    }
    if (ts.isSwitchStatement(node)) {
      const head = readIn(node.expression);
      for (const clause of node.caseBlock.clauses) this.sequence(clause.statements, head);
      return { read: readIn(node), ends: false };
    }
    return { read: readIn(node), ends: false };
  }

  private choice({ thenStatement, elseStatement }: ts.IfStatement, read: boolean): After {
    const yes = this.statement(thenStatement, read);
    const no: After = elseStatement === undefined ? { read, ends: false } : this.statement(elseStatement, read);
    if (yes.ends && no.ends) return { read: yes.read && no.read, ends: true };
    if (yes.ends) return { read: no.read, ends: false };
    if (no.ends) return { read: yes.read, ends: false };
    // `if (p) await p` is a way of awaiting what may not be there.
    return { read: yes.read && no.read, ends: false };
  }

  private attempt({ tryBlock, catchClause, finallyBlock }: ts.TryStatement, read: boolean): After {
    const { readIn } = this;
    const always = read || (finallyBlock !== undefined && readIn(finallyBlock));
    const tried = this.statement(tryBlock, always);
    const caught = catchClause && this.statement(catchClause.block, always || readIn(tryBlock));
    return {
      read: always || tried.read || (caught?.read ?? false),
      ends: tried.ends && (caught?.ends ?? true),
    };
  }
}

/** Whether a path may part in the statement, or end there with a `return`. */
function mayLeave(ts: Source["ts"], node: ts.Node): boolean {
  return (
    ts.isReturnStatement(node) ||
    ts.isBlock(node) ||
    ts.isLabeledStatement(node) ||
    ts.isIfStatement(node) ||
    ts.isTryStatement(node) ||
    ts.isSwitchStatement(node) ||
    isLoop(ts, node)
  );
}

function endsControl(ts: Source["ts"], node: ts.Statement): boolean {
  return ts.isReturnStatement(node) || ts.isThrowStatement(node) || ts.isBreakOrContinueStatement(node);
}

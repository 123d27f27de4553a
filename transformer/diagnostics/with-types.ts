/** What only types can tell, and calls across files. It adds diagnostics and never changes a key. */
import type ts from "typescript";
import { type Analysis, analyse } from "../plan/analysis.js";
import { isLibraryText, isSitedName } from "../plan/library.js";
import type { FunctionRecord } from "../plan/survey.js";
import { forEachPart, functionLiteral, isFunctionNode, isMember, type TypeScript, unwrap } from "../plan/syntax.js";
import { faultsOfOthers, isAsync } from "./awaiting.js";
import { type CodeOfRuns, codeOfRuns } from "./code-of-runs.js";
import { methodsWithoutObject } from "./detached-methods.js";
import { impurityOf, matters } from "./determinism.js";
import type { Finding, Rule, Subject } from "./finding.js";
import { type FunctionLookup, lookUpFunctions } from "./functions.js";

/** What the rules have to know of the program. */
export interface TypedProgram {
  readonly ts: TypeScript;
  readonly program: ts.Program;
  /** Whether a file is transformed although it does not import the library. */
  isIncluded(file: ts.SourceFile): boolean;
}

export function withTypes(typed: TypedProgram): Rule {
  const files = new ProjectFiles(typed);
  const exportsOf = readExports(typed);
  return (subject) => [
    ...unfollowed(typed, exportsOf, subject),
    ...unseenHelpers(typed, files, subject),
    ...impureHelpers(files, subject),
    ...methodsWithoutObject(subject, (given) => files.functionMeantBy(given)),
    ...faultsOfOthers(subject, (callee) => isAsyncFlow(typed, files, callee)),
  ];
}

/** `stamp()` of another file, which asks for the time. */
function impureHelpers(files: ProjectFiles, subject: Subject): Finding[] {
  return subject.found.calls.flatMap(({ node, owner, sited }) => {
    const { expression } = node;
    if (sited !== undefined || subject.runs.roleOf(owner) === undefined) return [];
    if (subject.functions.meantBy(expression) !== undefined || !matters(subject, expression)) return [];
    const called = files.functionMeantBy(expression);
    const fault = called && files.impurityOf(called);
    if (fault === undefined) return [];
    const file = called!.getSourceFile();
    const { line } = file.getLineAndCharacterOfPosition(fault.at.getStart(file));
    const what = `${fault.what}, in \`${expression.getText(subject.source.file)}\` (${baseName(file.fileName)}:${line + 1})`;
    return [{ code: fault.code, at: expression, what }];
  });
}

/** A function of another file, or a method that only its object's type shows, which is async and leads to steps. */
function isAsyncFlow({ ts }: TypedProgram, files: ProjectFiles, callee: ts.Expression): boolean {
  const called = files.functionMeantBy(callee);
  return called !== undefined && isAsync(ts, called) && files.leadsToSteps(called);
}

/** `context.step(...)`, or a `step` from a barrel: by its type the library's own, by its text anything. */
function unfollowed({ ts, program }: TypedProgram, exportsOf: ExportsOf, { source, found }: Subject): Finding[] {
  const checker = program.getTypeChecker();
  const exports = exportsOf(source);
  if (exports === undefined) return [];
  return found.calls.flatMap(({ node, exported }) => {
    if (exported !== undefined || !ts.isCallExpression(node)) return [];
    const callee = unwrap(ts, node.expression);
    if (!ts.isIdentifier(callee) && !isMember(ts, callee)) return [];
    // Which signature is called the compiler has found out before, and for nearly all calls this answers.
    const signature = checker.getResolvedSignature(node)?.declaration;
    if (signature !== undefined && !exports.signatures.has(signature)) return [];
    const name = exports.types.get(checker.getTypeAtLocation(callee));
    if (name === undefined) return [];
    const what = `\`${callee.getText(source.file)}\` is stepmark's \`${name}\` by its type`;
    return [{ code: "STEPMARK1009" as const, at: callee, what }];
  });
}

/** What the checker knows of the sited functions. */
interface SitedExports {
  /** With the function's name. */
  readonly types: ReadonlyMap<ts.Type, string>;
  readonly signatures: ReadonlySet<ts.Node>;
}

type ExportsOf = (source: Subject["source"]) => SitedExports | undefined;

/** Answers what a file's import of the library brings. */
function readExports({ ts, program }: TypedProgram): ExportsOf {
  const known = new Map<ts.Symbol, SitedExports>();
  return (source) => {
    const statement = source.file.statements.find(
      (each): each is ts.ImportDeclaration =>
        ts.isImportDeclaration(each) && isLibraryText(source, each.moduleSpecifier),
    );
    const checker = program.getTypeChecker();
    const module = statement && checker.getSymbolAtLocation(statement.moduleSpecifier);
    if (module === undefined) return undefined;
    const exports = known.get(module) ?? sitedExports(ts, checker, module);
    known.set(module, exports);
    return exports;
  };
}

function sitedExports(ts: TypeScript, checker: ts.TypeChecker, module: ts.Symbol): SitedExports {
  const types = new Map<ts.Type, string>();
  for (const symbol of checker.getExportsOfModule(module)) {
    if (!isSitedName(symbol.name)) continue;
    const type = checker.getTypeOfSymbol(symbol);
    if ((type.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) === 0) types.set(type, symbol.name);
  }
  const signatures = [...types.keys()].flatMap((type) =>
    type.getCallSignatures().map(({ declaration }) => declaration),
  );
  return { types, signatures: new Set(signatures.filter((declaration) => declaration !== undefined)) };
}

function unseenHelpers(typed: TypedProgram, files: ProjectFiles, subject: Subject): Finding[] {
  const { ts } = typed;
  return subject.found.calls.flatMap((call) => {
    const { node, owner, sited } = call;
    if (sited !== undefined || subject.runs.roleOf(owner) === undefined) return [];
    if (subject.functions.meantBy(node.expression) !== undefined) return [];
    const called = files.functionMeantBy(node.expression);
    if (called === undefined || files.isSeen(called.getSourceFile())) return [];
    const file = baseName(called.getSourceFile().fileName);
    const callee = node.expression.getText(subject.source.file);
    const found: Finding[] = [];
    if (files.leadsToSteps(called)) {
      const what = `\`${callee}\` leads to steps, and stands in ${file}, which is not transformed`;
      found.push({ code: "STEPMARK6001", at: node.expression, what });
    }
    for (const argument of node.arguments ?? []) {
      if (functionLiteral(ts, argument) !== undefined || !isOfModule(files, argument)) continue;
      const what = `\`${argument.getText(subject.source.file)}\` leads to steps, and is handed to \`${callee}\` in ${file}, which is not transformed`;
      found.push({ code: "STEPMARK6002", at: argument, what });
    }
    return found;
  });
}

/** Whether an argument is a function made at module level that leads to steps: such a one has no place of its own in the run. */
function isOfModule(files: ProjectFiles, argument: ts.Expression): boolean {
  const made = files.functionMeantBy(argument);
  const record = made && files.recordOf(made);
  return record?.creator?.kind === "module" && files.leadsToSteps(made!);
}

function baseName(fileName: string): string {
  return fileName.slice(fileName.lastIndexOf("/") + 1);
}

/** The program's own files, each analysed at most once. */
class ProjectFiles {
  private readonly known = new Map<ts.SourceFile, FileFacts | undefined>();
  /** Of files that are not transformed. */
  private readonly unseen = new Map<ts.SourceFile, FileFacts | undefined>();
  private readonly leading = new Map<ts.Node, boolean>();

  constructor(private readonly typed: TypedProgram) {}

  /** Whether the file is transformed, or is none of the project's sources. */
  isSeen(file: ts.SourceFile): boolean {
    return !this.isOwn(file) || this.factsOf(file) !== undefined;
  }

  /** The function of the program's sources that an expression means; undefined for one that the checker does not find. */
  functionMeantBy(expression: ts.Expression): ts.SignatureDeclaration | undefined {
    const { ts, program } = this.typed;
    const checker = program.getTypeChecker();
    const inner = unwrap(ts, expression);
    const name = ts.isPropertyAccessExpression(inner) ? inner.name : inner;
    if (!ts.isIdentifier(name)) return undefined;
    let symbol = checker.getSymbolAtLocation(name);
    if (symbol !== undefined && symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol);
    const declaration = symbol?.valueDeclaration;
    if (declaration === undefined || declaration.getSourceFile().isDeclarationFile) return undefined;
    if (isFunctionNode(ts, declaration)) return declaration as ts.SignatureDeclaration;
    return ts.isVariableDeclaration(declaration) ? functionLiteral(ts, declaration.initializer) : undefined;
  }

  recordOf(node: ts.Node): FunctionRecord | undefined {
    return this.factsOf(node.getSourceFile())?.records.get(node);
  }

  /** Whether a call of the function makes steps, through whatever files of the project. */
  leadsToSteps(node: ts.SignatureDeclaration): boolean {
    const known = this.leading.get(node);
    if (known !== undefined) return known;
    const reached = new Set([node]);
    for (const each of reached) {
      const leads = this.leading.get(each);
      if (leads ?? this.holdsSteps(each)) {
        this.leading.set(node, true);
        return true;
      }
      if (leads === undefined) for (const called of this.calledBy(each)) reached.add(called);
    }
    // Functions that call each other are judged together: none of them leads anywhere.
    for (const each of reached) this.leading.set(each, false);
    return false;
  }

  /** Whether the function's own file tells that it leads to steps. */
  private holdsSteps(node: ts.SignatureDeclaration): boolean {
    const record = this.recordOf(node);
    return record !== undefined && this.factsOf(node.getSourceFile())!.runs.leadsToSteps(record);
  }

  private calledBy(node: ts.SignatureDeclaration): readonly ts.SignatureDeclaration[] {
    const { ts } = this.typed;
    if (!this.isOwn(node.getSourceFile()) || !("body" in node) || node.body === undefined) return [];
    const called: ts.SignatureDeclaration[] = [];
    const visit = (inner: ts.Node): void => {
      const meant = ts.isCallExpression(inner) ? this.functionMeantBy(inner.expression) : undefined;
      if (meant !== undefined) called.push(meant);
      forEachPart(ts, inner, visit);
    };
    visit(node.body as ts.Node);
    return called;
  }

  /** What is impure about calling a function of the project from a run, unless its own file tells. */
  impurityOf(node: ts.SignatureDeclaration): Finding | undefined {
    const file = node.getSourceFile();
    if (!this.isOwn(file)) return undefined;
    const seen = this.factsOf(file);
    const record = seen?.records.get(node);
    if (record !== undefined && seen!.runs.roleOf(record) !== undefined) return undefined;
    const facts = seen ?? this.unseenFactsOf(file);
    const called = facts?.records.get(node);
    return called && impurityOf(facts!.analysis, facts!.functions, called);
  }

  private unseenFactsOf(file: ts.SourceFile): FileFacts | undefined {
    if (!this.unseen.has(file)) {
      const analysis = analyse(this.typed.ts, file, { included: true });
      this.unseen.set(file, analysis && factsOf(analysis));
    }
    return this.unseen.get(file);
  }

  private isOwn(file: ts.SourceFile): boolean {
    const { program } = this.typed;
    return (
      !file.isDeclarationFile &&
      !program.isSourceFileFromExternalLibrary(file) &&
      !/\/node_modules\//.test(file.fileName)
    );
  }

  private factsOf(file: ts.SourceFile): FileFacts | undefined {
    if (!this.known.has(file)) {
      const { ts } = this.typed;
      const analysis = analyse(ts, file, { included: this.typed.isIncluded(file) });
      this.known.set(file, analysis && factsOf(analysis));
    }
    return this.known.get(file);
  }
}

interface FileFacts {
  readonly analysis: Analysis;
  readonly functions: FunctionLookup;
  readonly runs: CodeOfRuns;
  readonly records: ReadonlyMap<ts.Node, FunctionRecord>;
}

function factsOf(analysis: Analysis): FileFacts {
  const functions = lookUpFunctions(analysis);
  const records = new Map(analysis.found.functions.map((record) => [record.node as ts.Node, record]));
  return { analysis, functions, runs: codeOfRuns(analysis, functions), records };
}

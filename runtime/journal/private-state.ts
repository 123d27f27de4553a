/** State of instances that is not in their own fields, as far as the text of their class tells of it. */
import { types } from "node:util";
import { dataProperty } from "./prototypes.js";

/**
 * Where instances of a class keep what their own fields do not show: a private name (`#cents`), or the call by which a
 * compiler, or a hand, keeps it beside the instance (`secrets.set(this`). Undefined: nothing is known of such state. What a
 * minifier has renamed is not recognised.
 *
 * @param prototype of the class; those it is derived from count too
 */
export function privateState(prototype: object): string | undefined {
  for (let at: object | null = prototype; at !== null && !types.isProxy(at); at = Object.getPrototypeOf(at)) {
    const maker = dataProperty(at, "constructor");
    if (typeof maker !== "function" || types.isProxy(maker)) continue;
    const code = bare(Function.prototype.toString.call(maker));
    const found = privateName(code) ?? stateBeside(code);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A regular expression stands where a value may begin. */
const expressionLiteral = String.raw`(?<=(?:[(,=:[!&|?{};+\-*%<>~^]|\breturn)\s*)/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+/`;
const notCode = new RegExp(
  [
    String.raw`/\*[\s\S]*?\*/`,
    "//[^\\n]*",
    String.raw`"(?:\\[\s\S]|[^"\\\n])*"`,
    String.raw`'(?:\\[\s\S]|[^'\\\n])*'`,
    "`(?:\\\\[\\s\\S]|[^`\\\\])*`",
    expressionLiteral,
  ].join("|"),
  "g",
);

/** The code without its comments and literals. */
function bare(code: string): string {
  return code.replace(notCode, (literal) => (literal.startsWith("/*") || literal.startsWith("//") ? " " : "0"));
}

// A private name stands after a dot, before `in`, or where it is declared.
const declaration = /(?<!\.\s*)(#[\p{ID_Start}$_][\p{ID_Continue}$]*)(?!\s*\bin\b|[\p{ID_Continue}$])/gu;
const ofTheClass = /\bstatic\s+(?:(?:async|get|set|accessor)\s+)*\*?\s*$/;

function privateName(code: string): string | undefined {
  for (const { 1: name, index } of code.matchAll(declaration)) {
    if (!ofTheClass.test(code.slice(Math.max(0, index - 60), index))) return name;
  }
  return undefined;
}

/** What TypeScript, Babel, SWC, esbuild and people write for private names. */
const beside = [
  /(?<![.\w$])[\w$]+\.set\(\s*this\b/,
  /\b\w+_instances\.add\(\s*this\b/,
  /\b_+class_?[pP]rivate\w*[iI]nit\w*\(\s*this\b/,
  /\b__privateAdd\d*\(\s*this\b/,
];

function stateBeside(code: string): string | undefined {
  for (const form of beside) {
    const found = form.exec(code);
    if (found !== null) return `${found[0]}, ...)`;
  }
  return undefined;
}

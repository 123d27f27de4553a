/** Code may replace or delete the array iterator: what the runtime does for its calls does not go through that. */
import { expect, it } from "vitest";
import { transformText } from "../../transformer/transform-text.js";
import { inRun } from "../conformance/realm-runtime.js";

const source = `
exports.f = (g) => { for (const k in { a: 1, b: 2 }) new Map().set(k, g(k)); return class { m(x) { return g(x); } }; };
function* later(x) { yield exports.g(x); }
exports.g = (x) => x + 1;
exports.late = () => later(4).next().value;
`;

it.each([
  ["deleted", undefined],
  [
    "replaced",
    () => {
      throw new Error("iterated");
    },
  ],
])("%s", (_name, replacement) => {
  const { code } = transformText(source, { file: "/p/a.js", root: "/p", include: ["a.js"] })!;
  const exports = {} as { f(g: (x: unknown) => unknown): new () => { m(x: unknown): unknown }; late(): unknown };
  const load = new Function("exports", code);
  const iterator = Object.getOwnPropertyDescriptor(Array.prototype, Symbol.iterator)!;
  const seen: unknown[] = [];
  let result: unknown;
  try {
    Object.defineProperty(Array.prototype, Symbol.iterator, { ...iterator, value: replacement });
    inRun(() => {
      load(exports);
      const C = exports.f((x) => (seen[seen.length] = x));
      new C().m("m");
      result = exports.late();
    });
  } finally {
    Object.defineProperty(Array.prototype, Symbol.iterator, iterator);
  }
  expect(seen).toEqual(["a", "b", "m"]);
  expect(result).toBe(5);
});

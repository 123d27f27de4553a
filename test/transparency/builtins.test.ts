/** Code may change the language's own objects: what the runtime does for its calls does not go through that. */
import { expect, it } from "vitest";
import { transformText } from "../../transformer/transform-text.js";
import { inRun } from "../conformance/realm-runtime.js";

const source = `
exports.f = (g) => { for (const k in { a: 1, b: 2 }) new Map().set(k, g(k)); return class { m(x) { return g(x); } }; };
function* later(x) { yield exports.g(x); }
exports.g = (x) => x + 1;
exports.late = () => later(4).next().value;
exports.accessor = { get() { return exports.g(1); }, set(value) { exports.g(value); }, configurable: true, enumerable: false };
`;

interface Loaded {
  f(g: (x: unknown) => unknown): new () => { m(x: unknown): unknown };
  late(): unknown;
  /** Of a property, made by transformed functions that make calls. */
  accessor: PropertyDescriptor;
}

const iterator = Object.getOwnPropertyDescriptor(Array.prototype, Symbol.iterator)!;
const thrower = (): never => {
  throw new Error("iterated");
};

it.each<[name: string, on: object, property: PropertyKey, changed: (loaded: Loaded) => PropertyDescriptor]>([
  ["no array iterator", Array.prototype, Symbol.iterator, () => ({ ...iterator, value: undefined })],
  ["another array iterator", Array.prototype, Symbol.iterator, () => ({ ...iterator, value: thrower })],
  // Defined for all objects, as the holes and ends of lists go on to ask there.
  ["an index of all objects", Object.prototype, "0", ({ accessor }) => accessor],
])("I9: %s", (_name, on, property, changed) => {
  const { code } = transformText(source, { file: "/p/a.js", root: "/p", include: ["a.js"] })!;
  const exports = {} as Loaded;
  const load = new Function("exports", code);
  const before = Object.getOwnPropertyDescriptor(on, property);
  const seen: unknown[] = [];
  const note = (x: unknown): unknown => {
    // Not in a way that asks the prototype.
    Object.defineProperty(seen, seen.length, { value: x, writable: true, enumerable: true, configurable: true });
    return x;
  };
  let result: unknown;
  try {
    inRun(() => {
      load(exports);
      Object.defineProperty(on, property, changed(exports));
      const C = exports.f(note);
      new C().m("m");
      result = exports.late();
    });
  } finally {
    if (before === undefined) Reflect.deleteProperty(on, property);
    else Object.defineProperty(on, property, before);
  }
  expect(seen).toEqual(["a", "b", "m"]);
  expect(result).toBe(5);
});

/** Error classes that every codec keeps without registration: the language's and the library's own. */
import * as library from "../errors.js";
import { errorNames } from "./prototypes.js";

type ErrorClass = { readonly prototype: object };

const classes = new Map<string, ErrorClass>();
const names = new Map<object, string>();

function add(name: string, target: ErrorClass): void {
  classes.set(name, target);
  names.set(target.prototype, name);
}

for (const name of errorNames) add(name, (globalThis as unknown as Record<string, ErrorClass>)[name]!);
for (const [name, exported] of Object.entries(library)) {
  // A name of the library's own may also be a user's; the prefix keeps them apart.
  if (typeof exported === "function" && exported.prototype instanceof Error) add(`stepmark.${name}`, exported);
}

export const knownErrors = {
  nameOf: (prototype: object): string | undefined => names.get(prototype),
  classOf: (name: string): ErrorClass | undefined => classes.get(name),
};

/** What a marked call calls, if it is something to call. */
import { baseAnchor, type Place } from "./module-table.js";

// biome-ignore lint/complexity/noBannedTypes: any callable
type AnyFunction = Function;

/** @param mark the function of ours that the code has called, which is none of the error's stack: that begins with the code's call */
export function callable(callee: unknown, place: Place, mark: AnyFunction): AnyFunction {
  return typeof callee === "function" ? callee : refuse(`${baseAnchor(place.anchor)} is not a function`, mark);
}

export function constructible(callee: unknown, place: Place, mark: AnyFunction): AnyFunction {
  return typeof callee === "function" ? callee : refuse(`${baseAnchor(place.anchor)} is not a constructor`, mark);
}

function refuse(message: string, mark: AnyFunction): never {
  const error = new TypeError(message);
  Error.captureStackTrace(error, mark);
  throw error;
}

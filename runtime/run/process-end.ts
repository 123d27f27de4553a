/** The end of a process that has nothing left to do: whatever the code of its runs waits for can never come. */
import process from "node:process";

const vigils = new Set<() => void>();
let isListening = false;

/** Calls back each time the process is about to end by itself; returns the way to cancel. */
export function whenNothingIsLeft(callback: () => void): () => void {
  if (!isListening) process.on("beforeExit", tellAll);
  isListening = true;
  vigils.add(callback);
  return () => vigils.delete(callback);
}

function tellAll(): void {
  for (const callback of [...vigils]) callback();
}

/** A process that runs the tests whose paths it is sent, one at a time. */
import process from "node:process";
import vm from "node:vm";
import { compare } from "./compare.js";
import type { Surroundings } from "./realm.js";

// A program's own loose ends are not this process's.
process.on("unhandledRejection", () => {});
process.on("uncaughtException", () => {});

let surroundings: Surroundings | undefined;
process.on("message", async (message: { suite: string; quick: boolean; runtime: string } | string) => {
  if (typeof message === "string") process.send!(await compare(message, surroundings!));
  else surroundings = { ...message, runtime: new vm.Script(message.runtime) };
});

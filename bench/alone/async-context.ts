/** What an `await` costs in this process, without an `AsyncLocalStorage` and in the context of one: nanoseconds, told to the parent. */
import { AsyncLocalStorage } from "node:async_hooks";
import process from "node:process";

const awaits = 1_000_000;

async function time(): Promise<number> {
  const began = process.hrtime.bigint();
  for (let i = 0; i < awaits; i++) await i;
  return Number(process.hrtime.bigint() - began) / awaits;
}

await time();
const plain = await time();
const storage = new AsyncLocalStorage<object>();
await storage.run({}, time);
const stored = await storage.run({}, time);
process.send!({ plain, stored });

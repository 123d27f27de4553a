import { changed, child, keyed, now, publish, random, sleep, step, uuid, waitFor, workflow } from "stepmark";

const say = async (text: string): Promise<string> => text;
const one = async (): Promise<number> => 1;
const fail = async (): Promise<never> => {
  throw new TypeError("no");
};
const helper = (x: string): Promise<string> => step(say, x);
const walk = async (depth: number): Promise<number> => (depth === 0 ? step(one) : (await walk(depth - 1)) + 1);
const outer = async (x: string): Promise<string> => `${await step(say, x)}${await helper(x)}`;
const limiter = (): (<T>(run: () => Promise<T>) => Promise<T>) => {
  let last: Promise<unknown> = Promise.resolve();
  return (run) => {
    const next = last.then(run);
    last = next.catch(() => {});
    return next;
  };
};

class Shop {
  async sell(name: string): Promise<string> {
    return step(() => this.price(name));
  }
  async price(name: string): Promise<string> {
    return name;
  }
}

async function* pages(): AsyncGenerator<string> {
  for (const page of ["p", "q"]) yield await step(say, page);
}

const inner = workflow("inner of it", async (x: string) => step(say, x));

/** Every way to a key. */
export const every = workflow("every way", async (input: { items: string[] }) => {
  const limit = limiter();
  const out: unknown[] = [await step(one), await step(one), await step("a name / of 'its' own", one)];
  out.push(await step({ key: "key of its own" }, say, "k"), await step({ retries: 1, backoff: 0 }, say, "r"));
  for (const item of input.items) {
    for (let i = 0; i < 2; i++) out.push(await step(say, `${item}${i}`));
  }
  for (const item of keyed(input.items, (x) => x)) out.push(await helper(item));
  out.push(await Promise.all(input.items.map(async (item) => step(outer, item))));
  out.push(await Promise.all(input.items.map(helper)), await walk(3), await walk(60));
  out.push(await Promise.all(keyed(input.items, (x) => x).map(async (item) => limit(() => step(say, item)))));
  out.push(await new Shop().sell("s"), await step(() => say(`${input.items.length}`)));
  for await (const page of pages()) out.push(page);
  try {
    await step(fail);
  } catch (error) {
    out.push((error as Error).name);
  }
  let tries = 0;
  while (tries < 2) {
    await (async () => out.push(await step(say, "in a function")))();
    tries++;
  }
  out.push(typeof (await now()), typeof (await random()), typeof (await uuid()), await changed("v2"));
  await publish("progress", out.length);
  await sleep(1);
  out.push(
    await waitFor<boolean>("approve", { payload: { x: 1 } }),
    await child(inner, "c", { id: "kid" }),
    await inner("d"),
  );
  return out;
});

/** The Jest transformer, called as Jest calls it. */
import { createRequire, SourceMap } from "node:module";
import { expect, it } from "vitest";
import jest, { type JestOptions } from "../../transformer/hosts/jest.js";

const call = { config: { rootDir: "/project" }, configString: "{}", instrument: false };
const source = `import { step } from "stepmark"; export const go = (): unknown => step(async () => 1);`;
const file = "/project/src/flow.ts";
const next = createRequire(import.meta.url).resolve("./next-transformer.cjs");

async function make(options: JestOptions) {
  return jest.createTransformer(options);
}

it("hands transformed code on to the project's own transformer, with its options", async () => {
  const transformer = await make({ transformer: [next, { mark: "seen" }] });
  const { code } = transformer.process(source, file, call);
  expect(code).toContain('r.module("src/flow.ts", ');
  expect(code).toMatch(/\/\/ seen$/);
  expect((await transformer.processAsync(source, file, call)).code).toBe(code);
  expect(transformer.process("const x: number = 1;", file, call).code).toBe("const x: number = 1;// seen");
});

it("runs code as it is where there is no other transformer", async () => {
  const transformer = await make({ include: ["src"] });
  const { code, map } = transformer.process(source, file, call);
  expect(code).toContain("step.at(");
  expect(map).toMatchObject({ sources: [expect.stringContaining("flow.ts")] });
});

it.each(["apart", "as text", "in the code"])(
  "leads through the map of the transformer that comes after: %s",
  async (where) => {
    const transformer = await make({ transformer: [next, { map: where }] });
    const text = `import { step } from "stepmark";\nexport const go = (): unknown => step(async () => "here");\n`;
    for (const made of [transformer.process(text, file, call), await transformer.processAsync(text, file, call)]) {
      const { sources, ...map } = JSON.parse(JSON.stringify(made.map)) as ConstructorParameters<typeof SourceMap>[0];
      expect(sources).toEqual([file]);
      const line = made.code.split("\n").findIndex((each) => each.includes('"here"'));
      const column = made.code.split("\n")[line]!.indexOf('"here"');
      const { originalLine, originalColumn } = new SourceMap({ ...map, sources }).findEntry(line, column) as never;
      expect([originalLine, originalColumn]).toEqual([1, text.split("\n")[1]!.indexOf('"here"')]);
    }
  },
);

it("has a cache key of all that its output depends on", async () => {
  const keyOf = async (options: JestOptions, code = source) => (await make(options)).getCacheKey(code, file, call);
  const keys = await Promise.all([
    keyOf({}),
    keyOf({ include: ["src"] }),
    keyOf({}, "other"),
    keyOf({ transformer: next }),
    keyOf({ transformer: [next, { mark: "seen" }] }),
  ]);
  expect(new Set(keys).size).toBe(keys.length);
  expect(await keyOf({})).toBe(keys[0]);
});

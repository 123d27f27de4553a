/** Compilers that check types, behind stepmark: they are told of with the cure, instead of by errors about generated code. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import webpack, { type Configuration, type Stats } from "webpack";
import jest from "../../transformer/hosts/jest.js";
import stepmark from "../../transformer/hosts/webpack.js";

const source = `import { step } from "stepmark"; export const go = (): unknown => step(async () => 1);`;

describe("Jest's next transformer", () => {
  const next = createRequire(import.meta.url).resolve("./next-transformer.cjs");
  const call = { config: { rootDir: "/project" }, configString: "{}", instrument: false };
  const process = async (options: object, code = source): Promise<unknown> => {
    const transformer = await jest.createTransformer({ transformer: [next, options] });
    const now = new Promise((resolve) => resolve(transformer.process(code, "/project/src/flow.ts", call)));
    const later = transformer.processAsync(code, "/project/src/flow.ts", call);
    const [first, second] = await Promise.allSettled([now, later]);
    expect(second).toEqual(first);
    return first;
  };
  const refused = {
    status: "rejected",
    reason: { code: "TRANSFORMER_OPTIONS", message: expect.stringContaining('`"isolatedModules": true`') },
  };

  it("is refused with the cure if it compiles something else than the transformed code", async () => {
    expect(await process({ reads: "export const go = () => 1;" })).toMatchObject(refused);
  });

  it("is refused with the cure if it finds faults in the types of transformed code", async () => {
    const error = Object.assign(new Error("src/flow.ts(1,9): Parameter 'r' has an 'any' type"), { name: "TSError" });
    expect(await process({ error })).toMatchObject({ ...refused, reason: { ...refused.reason, cause: error } });
  });

  it("may find faults in the types of other code, and others in transformed code", async () => {
    const types = Object.assign(new Error("types"), { name: "TSError" });
    expect(await process({ error: types }, "export const go = 1;")).toEqual({ status: "rejected", reason: types });
    const syntax = new SyntaxError("syntax");
    expect(await process({ error: syntax })).toEqual({ status: "rejected", reason: syntax });
  });
});

describe("webpack's ts-loader", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "stepmark-ts-loader-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  // A loader in its place that erases nothing and checks nothing: that it is there, and how it was told to work, is what counts.
  const loader = path.join(folder, "node_modules/ts-loader/index.js");
  mkdirSync(path.dirname(loader), { recursive: true });
  writeFileSync(loader, "module.exports = (code) => code;");
  writeFileSync(path.join(folder, "flow.js"), source.replace(": unknown", ""));
  writeFileSync(path.join(folder, "other.js"), "export {};");

  const warnings = async (entry: string, options?: object): Promise<string[]> => {
    const config: Configuration = {
      ...{ context: folder, entry, mode: "none", output: { path: path.join(folder, "out") } },
      externals: { stepmark: "commonjs stepmark" },
      module: { rules: [{ test: /\.js$/, use: [{ loader, ...(options && { options }) }] }] },
      plugins: [stepmark()],
    };
    const stats = await new Promise<Stats>((resolve, reject) => {
      webpack(config, (error, done) => (error ? reject(error) : resolve(done!)));
    });
    expect(stats.compilation.errors).toEqual([]);
    return stats.compilation.warnings.map(({ message }) => message);
  };

  it("is told of with the cure where it gets transformed code and would check its types", async () => {
    const told = [expect.stringMatching(/ts-loader checks the types.*`transpileOnly: true`/)];
    expect(await warnings("./flow.js")).toEqual(told);
    expect(await warnings("./flow.js", { transpileOnly: false })).toEqual(told);
  });

  it("is welcome where it only erases them, or gets no transformed code", async () => {
    expect(await warnings("./flow.js", { transpileOnly: true })).toEqual([]);
    expect(await warnings("./flow.js", { happyPackMode: true })).toEqual([]);
    expect(await warnings("./other.js")).toEqual([]);
  });
});

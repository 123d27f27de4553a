/** Code that names a map of its own is traced to what that map leads to. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { transformSync } from "esbuild";
import { afterAll, describe, expect, it } from "vitest";
import { throughEarlierMap } from "../../transformer/hosts/joined-maps.js";
import { transformText } from "../../transformer/transform-text.js";

const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "stepmark-maps-")));
const file = path.join(folder, "out/flow.js");
mkdirSync(path.dirname(file));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const source = `import { step } from "stepmark";
interface Order { readonly id: string }
export const go = (order: Order): unknown => step(() => order.id);
`;
const compiled = transformSync(source, { loader: "ts", sourcemap: "external", sourcefile: "../src/flow.ts" });

/** The sources and the code after a file with such an end. */
function traced(end: string): { sources: readonly string[]; code: string } {
  const transformed = transformText(compiled.code + end, { file, root: folder })!;
  const { map, code } = throughEarlierMap(transformed, file);
  return { sources: map.sources, code };
}

const data = (map: string): string =>
  `//# sourceMappingURL=data:application/json;base64,${Buffer.from(map).toString("base64")}`;
const withRoot = (sourceRoot: string, ...sources: string[]): string =>
  JSON.stringify({ ...(JSON.parse(compiled.map) as object), sourceRoot, sources });

describe("leads on to", () => {
  writeFileSync(`${file}.map`, compiled.map);
  writeFileSync(path.join(folder, "out/a b.map"), compiled.map);
  const original = path.join(folder, "src/flow.ts");

  it.each([
    ["a file beside it", "//# sourceMappingURL=flow.js.map\n", original],
    ["a file whose name is encoded", "//# sourceMappingURL=a%20b.map\r\n", original],
    ["what a comment in brackets names", "/*# sourceMappingURL=flow.js.map */", original],
    ["what the old sign names", "//@ sourceMappingURL=flow.js.map", original],
    ["a map in the comment", data(compiled.map), original],
    [
      "a map in the comment, in percent signs",
      `//# sourceMappingURL=data:application/json,${encodeURIComponent(compiled.map)}`,
      original,
    ],
    ["sources below a root", data(withRoot("../lib", "flow.ts")), path.join(folder, "lib/flow.ts")],
    ["sources that are names", data(withRoot("", "webpack://app/flow.ts")), "webpack://app/flow.ts"],
  ])("%s", (_what, end, expected) => {
    const { sources, code } = traced(end);
    expect(sources).toEqual([expected]);
    expect(code).not.toContain("sourceMappingURL");
  });
});

describe("stays with the code where there is", () => {
  it.each([
    ["no map", ""],
    ["no file of that name", "//# sourceMappingURL=gone.js.map"],
    ["an address elsewhere", "//# sourceMappingURL=https://example.org/flow.js.map"],
    ["no JSON", data("{")],
    ["a map that leads nowhere", data(JSON.stringify({ version: 3, sources: [], names: [], mappings: "" }))],
    ["an index of maps", data(JSON.stringify({ version: 3, sections: [] }))],
  ])("%s", (_what, end) => {
    const { sources, code } = traced(end);
    expect(sources).toEqual([file]);
    expect(code.includes("sourceMappingURL")).toBe(end !== "");
  });
});

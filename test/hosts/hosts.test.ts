/** One fixture tree through all hosts: a part of what `npm run hosts` runs. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundlers, compilers, type Host, nodes, type Setting } from "./hosts.js";
import { type Expected, tryHost } from "./matrix.js";
import { type Language, makeProject, type Project, repository } from "./project.js";

const expected = JSON.parse(readFileSync(path.join(repository, "test/hosts/expected.json"), "utf8")) as Expected;
const projects = {} as Record<Language, Project>;

beforeAll(() => {
  projects.typescript = makeProject();
  projects.javascript = makeProject("javascript");
}, 60_000);

afterAll(() => {
  for (const project of Object.values(projects)) project.remove();
});

/** A setting a host, another for each. */
const chosen = [...compilers, ...bundlers].map((host, index) => ({
  host,
  setting: host.settings[(index * 3) % host.settings.length]!,
  language: "typescript" as Language,
}));
const [node] = nodes([]) as [Host];
const loaders = node.settings.slice(1, 3).map((setting) => ({ host: node, setting, language: node.languages[0]! }));

const nameOf = ({ format, target, minify, elsewhere }: Setting): string =>
  `${format}, ${target}${minify ? ", minified" : ""}${elsewhere ? ", from another folder" : ""}`;

describe("the fixtures have the same sites, keys, outputs and source positions", () => {
  it.each(
    [...chosen, ...loaders].map((each) => ({
      ...each,
      name: `${each.host.name} ${each.host.version}, ${each.host.what}`,
      how: nameOf(each.setting),
    })),
  )(
    "$name: $how",
    async ({ host, setting, language }) => {
      const result = await tryHost(host, setting, projects[language], language, expected);
      expect(result.differences).toEqual([]);
      expect(result.passed).toBeGreaterThanOrEqual(7);
    },
    60_000,
  );
});

describe("a difference is found", () => {
  const esbuild = bundlers.find(({ name }) => name === "esbuild")!;
  const setting = esbuild.settings[0]!;

  it("in the keys, the output and the sites", async () => {
    const wrong = { ...expected, loops: { output: [], keys: ["loops/price"] } };
    const { sites } = projects.typescript;
    const [first, ...rest] = sites["src/types/main.ts"]!;
    const other = { ...projects.typescript, sites: { ...sites, "src/types/main.ts": [`${first}0`, ...rest] } };
    const { differences } = await tryHost(esbuild, setting, other, "typescript", wrong);
    expect(differences).toEqual([
      expect.stringMatching(/^loops: output /),
      expect.stringMatching(/^loops: keys /),
      expect.stringMatching(/^types: src\/types\/main\.ts has .* instead of /),
    ]);
  }, 60_000);
});

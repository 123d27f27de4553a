/** The table of docs/hosts.md: a line a host. */
import type { Result } from "./matrix.js";

export function tableOf(results: readonly Result[]): string {
  const groups = new Map<string, Result[]>();
  for (const result of results) {
    const { name, version, what } = result.host;
    const key = [name, version, what].join(" | ");
    groups.set(key, [...(groups.get(key) ?? []), result]);
  }
  const lines = [...groups].map(([key, group]) => {
    const passed = group.map((each) => each.passed);
    const [least, most] = [Math.min(...passed), Math.max(...passed)];
    const failed = group.filter(({ differences }) => differences.length > 0).length;
    const traced = Math.min(...group.map(({ positions }) => positions));
    return `| ${key} | ${settingsOf(group)} | ${least === most ? most : `${least}-${most}`} | ${traced === 0 ? "" : traced} | ${failed === 0 ? "none" : failed} |`;
  });
  return [
    "| host | version | what was run | settings | fixtures passed, in each | positions traced, in each at least | builds that differ |",
    "| --- | --- | --- | --- | --- | --- | --- |",
    ...lines,
  ].join("\n");
}

function settingsOf(group: readonly Result[]): string {
  const distinct = (values: unknown[]): string => [...new Set(values)].join("/");
  const parts = [
    distinct(group.map(({ setting }) => setting.format.toUpperCase())),
    distinct(group.map(({ setting }) => setting.target.toUpperCase())),
    distinct(group.map(({ setting }) => (setting.minify ? "minified" : "plain"))),
    distinct(group.map(({ language }) => (language === "typescript" ? "TS" : "JS"))),
  ];
  return `${group.length}: ${parts.join(", ")}`;
}

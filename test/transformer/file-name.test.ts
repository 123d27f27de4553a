/** Which file a host means by a module's id: queries, virtual modules, URLs, drives. */
import { expect, it } from "vitest";
import { fileOf } from "../../transformer/file-name.js";

it.each([
  ["/src/a.ts", "/src/a.ts"],
  ["src/a.ts", "src/a.ts"],
  ["/src/a.ts?t=123", "/src/a.ts"],
  ["/src/a.ts?v=1&import", "/src/a.ts"],
  ["/src/a#b.ts", "/src/a#b.ts"],
  ["/src/a.ts?", "/src/a.ts"],
  ["/@fs/home/me/a.ts", "/home/me/a.ts"],
  ["/@fs/C:/me/a.ts", "C:/me/a.ts"],
  ["C:\\me\\a b.ts?t=1", "C:/me/a b.ts"],
  ["c:/me/a.ts", "c:/me/a.ts"],
  ["\\\\host\\share\\a.ts", "//host/share/a.ts"],
  ["/odd\\name.ts", "/odd\\name.ts"],
  ["file:///home/me/a%20b.ts", "/home/me/a b.ts"],
  ["file:///home/me/a.ts?t=1#x", "/home/me/a.ts"],
  ["file:///C:/me/a.ts", "C:/me/a.ts"],
  ["file://host/share/a.ts", "//host/share/a.ts"],
  ["/src/App.vue", "/src/App.vue"],
  ["/src/App.vue?vue&type=script&setup=true&lang.ts", "/src/App.vue?vue&type=script&setup=true&lang.ts"],
  ["/src/App.vue?t=5&vue&type=script&lang.ts", "/src/App.vue?vue&type=script&lang.ts"],
])("%j is in %s", (id, expected) => {
  expect(fileOf(id)).toBe(expected);
});

it.each([
  "\0virtual:x",
  "/src/a.ts\0?commonjs-proxy",
  "virtual:x",
  "data:text/javascript,1",
  "node:fs",
  "https://example.com/a.ts",
  "/@id/__x00__virtual:x",
  "/src/a.ts?raw",
  "/src/a.ts?url&t=1",
  "/src/w.ts?worker",
  "/src/App.vue?vue&type=style&index=0&lang.css",
])("%j is in none", (id) => {
  expect(fileOf(id)).toBeUndefined();
});

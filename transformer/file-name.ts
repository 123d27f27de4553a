/** From the ids by which hosts ask for a module to the file that its text is from. */

/** Queries under which a host answers something else than the file's text. */
const notTheText = new Set(["raw", "url", "worker", "sharedworker", "inline", "no-inline", "init"]);
/** Queries by which a component's file is taken apart into modules of their own. */
const blocks = new Set(["vue", "svelte", "astro"]);
/** Parts of such a query that change from build to build. */
const volatile = new Set(["t", "v", "import", "direct", "used"]);

/**
 * The file of a module, with forward slashes where the id is of Windows. What only serves caches is left out; what tells
 * a component's blocks apart is kept: `/src/App.vue?vue&type=script&lang.ts`.
 *
 * @param id as bundlers, dev servers and loaders know the module: a path or a URL, with or without a query
 * @returns undefined for a module that is no file, or whose text is not the file's: `\0virtual`, `data:...`, `x.ts?raw`
 */
export function fileOf(id: string): string | undefined {
  if (id.includes("\0") || id.startsWith("/@id/")) return undefined;
  const [address, query = ""] = splitAt(id, "?");
  const file = pathOf(address);
  if (file === undefined || query === "") return file;
  const parts = query.split("#", 1)[0]!.split("&");
  const names = parts.map((part) => part.split("=", 1)[0]!);
  if (names.some((name) => notTheText.has(name)) || parts.includes("type=style")) return undefined;
  if (!names.some((name) => blocks.has(name))) return file;
  return `${file}?${parts.filter((_, index) => !volatile.has(names[index]!)).join("&")}`;
}

function pathOf(address: string): string | undefined {
  if (/^[a-z]:[\\/]/i.test(address) || address.startsWith("\\\\")) return address.replaceAll("\\", "/");
  if (/^file:/i.test(address)) return pathOfUrl(address);
  if (/^[a-z][\w+.-]+:/i.test(address)) return undefined;
  if (address.startsWith("/@fs/")) return withoutSlash(address.slice("/@fs".length));
  return address;
}

function pathOfUrl(address: string): string {
  const { host, pathname } = new URL(address);
  return host === "" ? withoutSlash(decodeURIComponent(pathname)) : `//${host}${decodeURIComponent(pathname)}`;
}

/** `/C:/x` is `C:/x`. */
function withoutSlash(path: string): string {
  return /^\/[a-z]:\//i.test(path) ? path.slice(1) : path;
}

function splitAt(text: string, sign: string): [string, string?] {
  const index = text.indexOf(sign);
  return index < 0 ? [text] : [text.slice(0, index), text.slice(index + 1)];
}

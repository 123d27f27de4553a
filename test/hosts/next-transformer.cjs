/**
 * A transformer as the ones that Jest projects use: marks what it is given, or fails, or compiles what it has `read` elsewhere; with
 * `map` it moves the code by a line and two columns, and says so.
 */
function moved(code, file, where) {
  const MagicString = require("magic-string");
  const text = new MagicString(code).prepend("// moved\n  ");
  const map = text.generateMap({ hires: true, source: file });
  if (where === "in the code") return { code: `${text}\n//# sourceMappingURL=${map.toUrl()}` };
  return { code: text.toString(), map: where === "apart" ? map : map.toString() };
}

module.exports = {
  default: {
    createTransformer: ({ mark = "", error, reads, map }) => ({
      process: (code, file) => {
        if (error) throw error;
        return map === undefined ? { code: `${reads ?? code}// ${mark}` } : moved(code, file, map);
      },
      getCacheKey: (code) => `${mark}${code}`,
    }),
  },
};

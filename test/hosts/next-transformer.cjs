/** A transformer as the ones that Jest projects use: with `map` it moves the code by a line and two columns, and says so. */
function moved(code, file, where) {
  const MagicString = require("magic-string");
  const text = new MagicString(code).prepend("// moved\n  ");
  const map = text.generateMap({ hires: true, source: file });
  if (where === "in the code") return { code: `${text}\n//# sourceMappingURL=${map.toUrl()}` };
  return { code: text.toString(), map: where === "apart" ? map : map.toString() };
}

module.exports = {
  default: {
    createTransformer: ({ mark = "", map }) => ({
      process: (code, file) => (map === undefined ? { code: `${code}// ${mark}` } : moved(code, file, map)),
      getCacheKey: (code) => `${mark}${code}`,
    }),
  },
};

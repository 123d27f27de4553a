/** A transformer as the ones that Jest projects use. */
module.exports = {
  default: {
    createTransformer: ({ mark = "" }) => ({
      process: (code) => ({ code: `${code}// ${mark}` }),
      getCacheKey: (code) => `${mark}${code}`,
    }),
  },
};

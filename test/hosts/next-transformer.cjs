/** A transformer as the ones that Jest projects use: marks what it is given, or fails, or compiles what it has `read` elsewhere. */
module.exports = {
  default: {
    createTransformer: ({ mark = "", error, reads }) => ({
      process: (code) => {
        if (error) throw error;
        return { code: `${reads ?? code}// ${mark}` };
      },
      getCacheKey: (code) => `${mark}${code}`,
    }),
  },
};

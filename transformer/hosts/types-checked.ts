/**
 * Compilers that check the types of what they are handed. Transformed code is for those that only erase types: checked, it is
 * refused with errors about code that nobody has written.
 */

/** What is said of one, and what helps. */
export interface TypesChecked {
  readonly what: string;
  readonly cure: string;
}

export const tsJest: TypesChecked = {
  what: "ts-jest checks the types of what it compiles, and takes some files from the disk instead of from stepmark",
  cure: 'Write `"isolatedModules": true` into compilerOptions of the tsconfig that it uses, and check types with `tsc --noEmit`.',
};

const tsLoader: TypesChecked = {
  what: "ts-loader checks the types of what it compiles, and knows none of those of transformed code",
  cure: "Give it `transpileOnly: true`, and check types with `tsc --noEmit` or fork-ts-checker-webpack-plugin.",
};

interface Loader {
  readonly path: string;
  readonly options?: unknown;
}

/**
 * The loader that would check types.
 *
 * @param context what the bundler tells of the module that is being transformed: of webpack and Rspack, its loaders
 */
export function checkingLoader(context: object | null | undefined): TypesChecked | undefined {
  const { loaderContext } = (context ?? {}) as { loaderContext?: { loaders: readonly Loader[] } };
  const checks = loaderContext?.loaders.some(({ path, options }) => {
    const { transpileOnly, happyPackMode } = Object(options) as Record<string, unknown>;
    return /[\\/]ts-loader[\\/]/.test(path) && transpileOnly !== true && happyPackMode !== true;
  });
  return checks ? tsLoader : undefined;
}

/** A loader for webpack, as a TypeScript project has one. */
import { transform } from "esbuild";

export default function compile(source, map) {
  const done = this.async();
  const { target } = this.getOptions();
  const loader = this.resourcePath.endsWith("x") ? "tsx" : "ts";
  const input = map
    ? `${source}\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString("base64")}`
    : source;
  transform(input, { loader, target, sourcemap: true, sourcefile: this.resourcePath, jsxFactory: "h" }).then(
    (made) => done(null, made.code, JSON.parse(made.map)),
    done,
  );
}

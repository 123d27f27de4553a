/** Small pictures as SVG, for light pages and for dark ones. */

/** Colours by what they stand for: on light pages, on dark ones. */
const colours = {
  text: ["#1f2328", "#e6edf3"],
  quiet: ["#6e7781", "#8b949e"],
  line: ["#d0d7de", "#30363d"],
  workflow: ["#8250df", "#d2a8ff"],
  call: ["#0550ae", "#79c0ff"],
  number: ["#bc4c00", "#ffa657"],
  site: ["#116329", "#7ee787"],
  loop: ["#a40e6a", "#ff9bce"],
  dead: ["#cf222e", "#ff7b72"],
} as const;

export type Colour = keyof typeof colours;

/** A piece of text in a colour; `code` is in letters of one width. */
export interface Piece {
  readonly text: string;
  readonly colour?: Colour;
}

export interface TextOptions {
  readonly code?: boolean;
  readonly anchor?: "middle" | "end";
  readonly small?: boolean;
  readonly bold?: boolean;
}

export function text(x: number, y: number, pieces: readonly Piece[] | string, options: TextOptions = {}): string {
  const { code = false, anchor, small = false, bold = false } = options;
  const classes = [code && "code", small && "small", bold && "bold"].filter(Boolean).join(" ");
  const inner =
    typeof pieces === "string"
      ? escaped(pieces)
      : pieces.map(({ text: part, colour = "text" }) => `<tspan class="${colour}">${escaped(part)}</tspan>`).join("");
  const attributes = [
    `x="${x}" y="${y}"`,
    ...(classes === "" ? [] : [`class="${classes}"`]),
    ...(anchor === undefined ? [] : [`text-anchor="${anchor}"`]),
  ];
  return `<text ${attributes.join(" ")}>${inner}</text>`;
}

export function line(x1: number, y1: number, x2: number, y2: number, colour: Colour, dashed = false): string {
  return `<path class="${colour} stroke" d="M${x1} ${y1}L${x2} ${y2}"${dashed ? ' stroke-dasharray="3 3"' : ""}/>`;
}

/** A bar that is filled faintly. */
export function bar(x: number, y: number, width: number, height: number, colour: Colour): string {
  return `<rect class="${colour} bar" x="${x}" y="${y}" width="${width}" height="${height}" rx="4"/>`;
}

export function dot(x: number, y: number, radius: number, colour: Colour): string {
  return `<circle class="${colour}" cx="${x}" cy="${y}" r="${radius}"/>`;
}

export function cross(x: number, y: number, size: number, colour: Colour): string {
  return `<path class="${colour} stroke bold" d="M${x - size} ${y - size}L${x + size} ${y + size}M${x - size} ${y + size}L${x + size} ${y - size}"/>`;
}

/** @param title what the picture says, for those who do not see it */
export function picture(width: number, height: number, title: string, elements: readonly string[]): string {
  const rules = (scheme: 0 | 1): string =>
    Object.entries(colours)
      .map(([name, values]) => `.${name}{fill:${values[scheme]}}.${name}.stroke,.${name}.bar{stroke:${values[scheme]}}`)
      .join("");
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    "<style>",
    "text{font:14px system-ui,sans-serif;white-space:pre}.code{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}",
    ".small{font-size:12px}.bold{font-weight:600}path.bold{stroke-width:2.5}.stroke{fill:none}.page.stroke{fill:#fff}.bar{fill-opacity:.18;stroke-width:1.2}",
    `text{fill:${colours.text[0]}}${rules(0)}`,
    `@media (prefers-color-scheme:dark){.page.stroke{fill:#0d1117}text{fill:${colours.text[1]}}${rules(1)}}`,
    "</style>",
    // Its own, so that it can be read on whatever page it stands.
    `<rect class="page line stroke" x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8"/>`,
    ...elements,
    "</svg>",
  ].join("\n")}\n`;
}

function escaped(value: string): string {
  return value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/**
 * Edits of a source text that nest. Everything is said in offsets of the original text, outer syntax before inner: what
 * opens at one offset is then written outermost first, and what closes there outermost last.
 */
import MagicString, { type SourceMap } from "magic-string";
import { mapOf } from "./map.js";

export class EditedText {
  private readonly result: MagicString;
  /** Stands before what is opened, for the map; a character that the text does not hold. */
  private readonly mark: string;

  constructor(readonly original: string) {
    this.result = new MagicString(original);
    this.mark = unusedIn(original);
  }

  /** The text with all edits. */
  toString(): string {
    return this.result.toString().replaceAll(this.mark, "");
  }

  /** @param file how the map calls the original text */
  map(file: string): SourceMap {
    return mapOf(this.result, this.mark, file);
  }

  /** Writes before what starts at an offset. The text moves along with that. */
  open(offset: number, text: string): void {
    const space = this.sticksTo(offset, text) ? " " : "";
    this.result.appendRight(offset, `${space}${this.mark}${text}`);
  }

  /** Writes after what ends at an offset. The text moves along with that. */
  close(offset: number, text: string): void {
    this.result.prependLeft(offset, text);
  }

  /** Writes a token differently. Nothing may be written inside it; what opens before it or closes after it stays. */
  replace(start: number, end: number, text: string): void {
    this.result.update(start, end, text);
  }

  /** Takes out a range that holds no edits, except for its line breaks. */
  blank(start: number, end: number): void {
    const breaks = this.original.slice(start, end).match(/\r\n?|[\n\u2028\u2029]/g) ?? [];
    if (breaks.length > 0) this.replace(start, end, breaks.join(""));
    else this.result.remove(start, end);
  }

  /** Moves a range with all that is written in it to just before what starts at an offset, after what was moved there before. */
  move(start: number, end: number, before: number): void {
    this.result.move(start, end, before);
  }

  /** Whether a name written at an offset would become one with the word before it: `return(f)(x)`. */
  private sticksTo(offset: number, text: string): boolean {
    return /^[\w$]/.test(text) && /[\p{ID_Continue}$\u200c\u200d]/u.test(this.original.charAt(offset - 1));
  }
}

/** A character for private use. */
function unusedIn(text: string): string {
  for (let code = 0xe000; ; code++) {
    const character = String.fromCharCode(code);
    if (!text.includes(character)) return character;
  }
}

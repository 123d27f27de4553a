/** Questions to whoever sits at the terminal. */
import { createInterface, type Interface } from "node:readline/promises";

/**
 * @param question on one line
 * @returns the answer, without white space around it; undefined if none comes any more (Ctrl-C, Ctrl-D)
 */
export type Ask = (question: string) => Promise<string | undefined>;

/** A terminal that can be asked. What is typed ahead answers the next question. */
export class Questions {
  private open: { readonly terminal: Interface; readonly lines: AsyncIterator<string> } | undefined;
  /** Whether nothing more is read; what has been typed ahead is there all the same. */
  private ended = false;

  constructor(
    private readonly input: NodeJS.ReadableStream,
    private readonly output: NodeJS.WritableStream,
  ) {}

  readonly ask: Ask = async (question) => {
    this.open ??= this.start();
    const { terminal, lines } = this.open;
    if (this.ended) this.output.write(question);
    else {
      terminal.setPrompt(question);
      terminal.prompt();
    }
    const { value, done } = await lines.next();
    if (done !== true) return value.trim();
    this.output.write("\n");
    return undefined;
  };

  /** The process cannot end before. */
  close(): void {
    this.open?.terminal.close();
  }

  private start(): NonNullable<typeof this.open> {
    const terminal = createInterface({ input: this.input, output: this.output });
    terminal.once("close", () => {
      this.ended = true;
    });
    return { terminal, lines: terminal[Symbol.asyncIterator]() };
  }
}

export function isNo(answer: string): boolean {
  return /^n/i.test(answer);
}

export function isYes(answer: string): boolean {
  return /^y/i.test(answer);
}

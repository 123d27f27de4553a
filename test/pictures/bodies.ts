/** Bodies that begin when a run begins them, and end when the script lets them. */
import { stepContext } from "stepmark";

export interface Happening {
  readonly what: "begins" | "ends";
  /** Replay key. */
  readonly key: string;
}

/** What happens to bodies in one process. */
export class Stage {
  readonly log: Happening[] = [];
  private readonly waiting = new Map<string, () => void>();

  async act(key: string): Promise<void> {
    this.log.push({ what: "begins", key });
    await new Promise<void>((resolve) => {
      this.waiting.set(key, resolve);
    });
    this.log.push({ what: "ends", key });
  }

  /** Lets a body end, once it has begun. */
  async end(key: string): Promise<void> {
    await this.begun(key);
    this.waiting.get(key)!();
    await rest();
  }

  async begun(key: string): Promise<void> {
    while (!this.waiting.has(key)) await rest();
  }
}

/** Lets everything happen that needs nothing from outside. */
async function rest(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
}

let stage: Stage;

export function play(on: Stage): void {
  stage = on;
}

export async function reserve(item: string): Promise<string> {
  await stage.act(stepContext().key);
  return `stock of ${item}`;
}

export async function getQuote(item: string, stock: string): Promise<string> {
  await stage.act(stepContext().key);
  return `quote for ${item} of ${stock}`;
}

export async function book(quote: string): Promise<void> {
  await stage.act(stepContext().key);
  void quote;
}

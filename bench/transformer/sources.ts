/** The files that are measured: workflows, and code around them that knows nothing of the library. */

/** A file of about 2.4 kB with one workflow, its steps and a few helpers; it also has the directives of Vercel's Workflow SDK. */
export function workflowFile(number: number): string {
  return `import { sleep, step, waitFor, workflow } from "stepmark";
import { type Item${number}, totalOf${number}, weigh${number} } from "../plain/plain${number}.js";

export interface Order${number} {
  readonly id: string;
  readonly items: readonly Item${number}[];
  readonly express?: boolean;
}

export interface Receipt${number} {
  readonly order: string;
  readonly total: number;
  readonly parcels: readonly string[];
}

async function reserve${number}(item: Item${number}, warehouse: string): Promise<string> {
  "use step";
  return \`\${warehouse}/\${item.sku}/\${weigh${number}(item)}\`;
}

async function charge${number}(customer: string, cents: number): Promise<{ id: string; cents: number }> {
  "use step";
  return { id: \`ch_\${customer}_${number}\`, cents };
}

async function refund${number}(charge: string): Promise<void> {
  "use step";
  if (charge === "") throw new Error("no charge");
}

async function book${number}(parcels: readonly string[], express: boolean): Promise<string[]> {
  "use step";
  return parcels.map((parcel, index) => \`\${parcel}#\${index}\${express ? "!" : ""}\`);
}

/** Tries the warehouses one after the other. */
async function find${number}(item: Item${number}, warehouses: readonly string[]): Promise<string | undefined> {
  for (const warehouse of warehouses) {
    const place = await step(reserve${number}, item, warehouse);
    if (place.length > 0) return place;
  }
  return undefined;
}

export const fulfil${number} = workflow("fulfil${number}", async (order: Order${number}): Promise<Receipt${number}> => {
  "use workflow";
  const total = totalOf${number}(order.items);
  const charge = await step({ retries: 3 }, charge${number}, order.id, total);
  try {
    const places = await Promise.all(
      order.items.map(async (item) => {
        const place = await find${number}(item, ["north", "south", "east"]);
        if (place === undefined) throw new Error(\`no \${item.sku} left\`);
        return place;
      }),
    );
    if (total > 100_000) {
      const approved = await waitFor<boolean>("approve", { payload: { order: order.id, total } });
      if (!approved) throw new Error("not approved");
    }
    const parcels = await step(() => book${number}(places, order.express ?? false));
    for (let day = 0; day < 3; day++) {
      await sleep("1d");
      const late = parcels.filter((parcel) => parcel.endsWith(String(day)));
      if (late.length === 0) break;
    }
    return { order: order.id, total, parcels };
  } catch (error) {
    await step("refund", refund${number}, charge.id);
    throw error;
  }
});
`;
}

/** A file with a workflow after some edits: a callee and a helper have other names, and a step is gone. */
export function editedFile(number: number, text: string): string {
  return text
    .replaceAll(`charge${number}`, `debit${number}`)
    .replaceAll(`find${number}`, `locate${number}`)
    .replace('    await step("refund", refund', '    void ("refund", refund');
}

/** A file of about 2 kB without any workflow. */
export function plainFile(number: number): string {
  return `export interface Item${number} {
  readonly sku: string;
  readonly price: number;
  readonly quantity: number;
  readonly tags?: readonly string[];
}

export type Grouped${number} = Readonly<Record<string, readonly Item${number}[]>>;

export function weigh${number}(item: Item${number}): number {
  return Math.round(item.quantity * (1 + (item.tags?.length ?? 0) / 10));
}

export function totalOf${number}(items: readonly Item${number}[]): number {
  let total = 0;
  for (const { price, quantity } of items) total += price * quantity;
  return total;
}

export function grouped${number}(items: readonly Item${number}[]): Grouped${number} {
  const groups: Record<string, Item${number}[]> = {};
  for (const item of items) {
    for (const tag of item.tags ?? ["none"]) {
      groups[tag] ??= [];
      groups[tag].push(item);
    }
  }
  return groups;
}

export class Stock${number} {
  private readonly levels = new Map<string, number>();

  constructor(private readonly name: string) {}

  async load(read: (name: string) => Promise<Iterable<readonly [string, number]>>): Promise<this> {
    for (const [sku, level] of await read(this.name)) this.levels.set(sku, level);
    return this;
  }

  async take(sku: string, quantity: number, wait: (ms: number) => Promise<void>): Promise<boolean> {
    for (let attempt = 0; attempt < 3; attempt++) {
      const level = this.levels.get(sku) ?? 0;
      if (level >= quantity) {
        this.levels.set(sku, level - quantity);
        return true;
      }
      await wait(2 ** attempt);
    }
    return false;
  }

  summary(): string {
    return [...this.levels].map(([sku, level]) => \`\${sku}: \${level}\`).join(", ");
  }
}
`;
}

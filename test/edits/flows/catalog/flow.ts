/** A catalogue that is read by a class: methods that call steps and each other. */
import { step, workflow } from "stepmark";
import { done, log } from "../bodies.js";

const open = async (shop: string) => done("open", shop);
const fetchPage = async (url: string) => done("fetchPage", url);
const parsePage = async (page: string) => done("parsePage", page);
const store = async (rows: string[]) => done("store", rows);

class Catalog {
  constructor(private readonly shop: string) {}

  async read(names: string[]) {
    const session = await step(open, this.shop);
    const rows: string[] = [];
    for (const name of names) {
      log(name);
      rows.push(await this.page(name));
    }
    return { session, rows };
  }

  async page(name: string) {
    const page = await step(fetchPage, `${this.shop}/${name}`);
    return this.parse(page);
  }

  async parse(page: string) {
    return step(parsePage, page);
  }
}

export const w = workflow("catalog", async (shop: string) => {
  const catalog = new Catalog(shop);
  const { session, rows } = await catalog.read(["tea", "coffee"]);
  log("front");
  const front = await catalog.page("index");
  const stored = await step(store, rows);
  return { session, front, stored };
});

export const input = "shop";

/** The scenarios that are not edited: both apps that are tried have them. */
import { WORKFLOW_DESERIALIZE, WORKFLOW_SERIALIZE } from "@workflow/serde";
import * as work from "../../correctness/work.js";

/** Its own, since what is given to a step has to say how it is written down. */
class Page {
  constructor(readonly text: string) {}
  static [WORKFLOW_SERIALIZE]({ text }: Page) {
    return { text };
  }
  static [WORKFLOW_DESERIALIZE]({ text }: { text: string }) {
    return new Page(text);
  }
}

async function print(page: Page) {
  "use step";
  return work.print(page, () => typeset(page));
}

async function typeset(page: Page) {
  "use step";
  return work.typeset(page);
}

async function predecessor(branch: string) {
  "use step";
  return work.predecessor(branch);
}

async function shared(branch: string) {
  "use step";
  return work.shared(branch);
}

async function combine(results: string[]) {
  "use step";
  return work.combine(results);
}

async function load(page: string) {
  "use step";
  return work.load(page);
}

async function render(text: string) {
  "use step";
  return work.render(text);
}

async function shrink(image: string) {
  "use step";
  return work.shrink(image);
}

async function ask(supplier: string) {
  "use step";
  return work.ask(supplier);
}

async function orderFrom(supplier: string) {
  "use step";
  return work.orderFrom(supplier);
}

async function prepare() {
  "use step";
  return work.prepare();
}

async function done() {
  "use step";
  return work.done();
}

async function flaky() {
  "use step";
  return work.flaky();
}

export async function A1() {
  "use workflow";
  return [await print(new Page("a")), await print(new Page("b"))];
}

export async function B1() {
  "use workflow";
  return branches();
}

export async function B2() {
  "use workflow";
  return branches();
}

async function branches() {
  const branch = async (which: string) => {
    await predecessor(which);
    return shared(which);
  };
  return combine(await Promise.all([branch("A"), branch("B")]));
}

export async function B4(pages: string[]) {
  "use workflow";
  return Promise.all(pages.map(async (page) => render(await load(page))));
}

export async function B6(images: string[]) {
  "use workflow";
  const queue = [...images];
  const results = new Map<string, string>();
  const worker = async (): Promise<void> => {
    for (let image = queue.shift(); image !== undefined; image = queue.shift()) results.set(image, await shrink(image));
  };
  await Promise.all([worker(), worker()]);
  return images.map((image) => results.get(image)!);
}

export async function B7() {
  "use workflow";
  return orderFrom(await Promise.race([ask("slow"), ask("fast")]));
}

export async function C1() {
  "use workflow";
  await prepare();
  return Promise.all([done(), flaky()]);
}

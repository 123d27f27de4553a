/** The bodies of the scenarios' steps, the same for all contenders. */
import { body } from "./stage.js";

export class Page {
  constructor(readonly text: string) {}
}

/** @param inner typesets the page, by a step */
export const print = (page: Page, inner: () => Promise<string>): Promise<string> => body(`print ${page.text}`, inner);
export const typeset = (page: Page): Promise<string> => body(`typeset ${page.text}`, () => page.text.toUpperCase());

export const predecessor = (branch: string): Promise<string> => body(`predecessor ${branch}`, () => branch);
export const shared = (branch: string): Promise<string> => body(`shared ${branch}`, () => `result:${branch}`);
export const combine = (results: string[]): Promise<string[]> => body("combine", () => results);

export const load = (page: string): Promise<string> => body(`load ${page}`, () => `text of ${page}`);
export const render = (text: string): Promise<string> => body(`render ${text.at(-1)}`, () => `<p>${text}</p>`);

export const shrink = (image: string): Promise<string> => body(`shrink ${image}`, () => `small ${image}`);

export const ask = (supplier: string): Promise<string> => body(`ask ${supplier}`, () => supplier);
export const orderFrom = (supplier: string): Promise<string> =>
  body(`order from ${supplier}`, () => `ordered from ${supplier}`);

export const prepare = (): Promise<number> => body("prepare", () => 0);
export const done = (): Promise<number> => body("done", () => 1);
export const flaky = (): Promise<number> => body("flaky", () => 2);

export const reserve = (): Promise<string> => body("reserve", () => "reserved");
export const audit = (): Promise<string> => body("audit", () => "audited");
export const charge = (): Promise<string> => body("charge", () => "charged");
export const ship = (): Promise<string> => body("ship", () => "shipped");

export const notify = (whom: string): Promise<string> => body(`notify ${whom}`, () => `sent ${whom}`);
export const finish = (sent: string[]): Promise<string[]> => body("finish", () => sent);

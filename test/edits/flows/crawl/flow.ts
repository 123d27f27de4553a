/** A crawler that calls itself for each link. */
import { step, workflow } from "stepmark";
import { done, log } from "../bodies.js";

const links: Record<string, string[]> = { "/": ["/docs", "/blog"], "/docs": ["/api"], "/blog": [], "/api": [] };

const fetchText = async (url: string) => done("fetchText", url);
const summarise = async (text: string) => done("summarise", text);
const connect = async (host: string) => done("connect", host);
const report = async (pages: number) => done("report", pages);

interface Page {
  url: string;
  summary: string;
  below: Page[];
}

async function crawl(url: string): Promise<Page> {
  log(url);
  const text = await step(fetchText, url);
  const below = await Promise.all((links[url] ?? []).map((link) => crawl(link)));
  log(url);
  const summary = await step(summarise, text);
  return { url, summary, below };
}

const count = (page: Page): number => page.below.reduce((sum, each) => sum + count(each), 1);

export const w = workflow("crawl", async (host: string) => {
  const session = await step(connect, host);
  const site = await crawl("/");
  log("end");
  const pages = count(site);
  const sent = await step(report, pages);
  return { session, pages, sent };
});

export const input = "example.com";

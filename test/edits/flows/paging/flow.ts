/** A report over pages of rows: loops inside each other, and one without a known end. */
import { step, workflow } from "stepmark";
import { done, log } from "../bodies.js";

const list = async (region: string, page: number) => ({ by: await done("list", region, page), last: page === 1 });
const score = async (region: string, page: number) => done("score", region, page);
const total = async (scores: number) => done("total", scores);
const publishReport = async (region: string, sum: string) => done("publishReport", region, sum);

export const w = workflow("paging", async (regions: string[]) => {
  const reports: string[] = [];
  for (const region of regions) {
    const scores: string[] = [];
    let page = 0;
    let isLast = false;
    while (!isLast) {
      log(region, page);
      const rows = await step(list, region, page);
      scores.push(await step(score, region, page));
      isLast = rows.last;
      page++;
    }
    log(region);
    const sum = await step(total, scores.length);
    reports.push(await step(publishReport, region, sum));
  }
  return reports;
});

export const input = ["north", "south"];

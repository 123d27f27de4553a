/** Ballots of several districts, which go by their names: `keyed` callbacks and a `keyed` loop. */
import { keyed, step, workflow } from "stepmark";
import { done, log } from "../bodies.js";

interface District {
  name: string;
  seats: number;
}

const count = async (district: string) => done("count", district);
const audit = async (district: string) => done("audit", district);
const certify = async (district: string, seats: number) => done("certify", district, seats);
const archive = async (what: string) => done("archive", what);

const settle = async (district: District) => {
  const audited = await step(audit, district.name);
  return { district: district.name, audited };
};

export const w = workflow("ballots", async (districts: District[]) => {
  const opened = await step(archive, "opened");
  const counted = await Promise.all(
    keyed(districts, (district) => district.name).map(async (district) => {
      log(district.name);
      const votes = await step(count, district.name);
      const settled = await settle(district);
      return { votes, ...settled };
    }),
  );
  const certified: string[] = [];
  for (const district of keyed(districts, (each) => each.name)) {
    log(district.name);
    certified.push(await step(certify, district.name, district.seats));
  }
  log("end");
  const closed = await step(archive, "closed");
  return { opened, counted, certified, closed };
});

export const input = [
  { name: "hill", seats: 2 },
  { name: "lake", seats: 1 },
];

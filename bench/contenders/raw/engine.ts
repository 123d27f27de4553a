/** What is measured of raw rows, whoever writes them. */
import { entered, left } from "../../speed/marks.js";
import type { FlowInputs } from "../../speed/workloads.js";
import type { Engine } from "../contender.js";

export interface Rows {
  /** Goes through rows that are there, and adds those that are not; the sum of their values and one each. */
  write(id: string, count: number): Promise<number>;
  /** How many rows are there. */
  count(id: string): Promise<number> | number;
}

export function engineOn({ write, count }: Rows): Engine {
  return {
    async run(flow, input, id) {
      entered();
      if (flow === "fans") {
        const { rounds, width } = input as FlowInputs["fans"];
        await write(id, rounds * width);
        return left(rounds * ((width * (width + 1)) / 2));
      }
      return left(await write(id, (input as FlowInputs["chain"]).count));
    },
    async resume(_flow, id) {
      entered();
      return left(await write(id, (await count(id)) + 1));
    },
  };
}

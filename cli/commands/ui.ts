/** `stepmark ui`: the inspector, a page that shows what a store holds. */
import path from "node:path";
import process from "node:process";
import type { InspectorOptions } from "../../inspector/server.js";
import { wordsOf } from "../../runtime/journal/careful.js";
import type { Store } from "../../runtime/stores/store.js";
import { projectFolder } from "../../transformer/hosts/host-transform.js";
import { command, type Output, UsageError } from "../command.js";
import { existingStore, isAddress, storeOption, using } from "../run-store.js";
import { withWorkflows, workflowsOption } from "../workflows.js";

export const ui = command({
  usage: ["ui [--workflows MODULE] [--port N] [--root FOLDER]"],
  about: `Serves a page on this machine that shows the runs of a store: each as a timeline and as a tree of scopes, with every value,
error and place in the source, live while it goes on, and step by step afterwards. Open waits can be answered there, and runs
cancelled; nothing is ever run.

The address that is printed holds a token: whoever has it can see and answer everything. Nothing is sent to any other machine.`,
  options: {
    ...storeOption,
    ...workflowsOption,
    port: { type: "string", value: "N", help: "the port; by default one that is free" },
    host: { type: "string", value: "ADDRESS", default: "127.0.0.1", help: "the address to listen at" },
    root: {
      type: "string",
      value: "FOLDER",
      help: "what the paths of modules are relative to; by default the folder of the nearest package.json. No file outside is ever read",
    },
  },
  ends: "Ends with Ctrl-C.",
  async run({ values, positionals }, output) {
    if (positionals.length > 0) throw new UsageError(`there is nothing to do with ${positionals[0]}`);
    const options: Omit<InspectorOptions, "store"> = {
      name: isAddress(values.store) ? withoutPassword(values.store) : values.store,
      root: values.root === undefined ? projectFolder(process.cwd()) : path.resolve(values.root),
      host: values.host,
      port: portOf(values.port),
      onError: (error) => output.warn(`stepmark ui: ${wordsOf(error)}`),
    };
    const store = existingStore(values.store, (line) => {
      options.readOnly = true;
      output.warn(line);
    });
    return using(store, async () => {
      // Opened before the page is; what is wrong with it is told there.
      if (!isAddress(values.store)) await store.list({ limit: 0 }).catch(() => {});
      if (values.workflows === undefined) return serve(store, options, output);
      return withWorkflows(values.workflows, ({ workflows, codec }) =>
        serve(store, { ...options, workflows, ...(codec && { codec }) }, output),
      );
    });
  },
});

async function serve(store: Store, options: Omit<InspectorOptions, "store">, { print }: Output): Promise<number> {
  const { serveInspector } = await import("../../inspector/server.js");
  const inspector = await serveInspector({ ...options, store }).catch((error: NodeJS.ErrnoException) => {
    if (error.syscall === "listen" || error.syscall === "getaddrinfo")
      throw new UsageError(`cannot listen there: ${error.message}`);
    throw error;
  });
  print(inspector.url);
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });
  await inspector.close();
  return 0;
}

function portOf(given: string | undefined): number {
  if (given === undefined) return 0;
  if (!/^\d{1,5}$/.test(given) || Number(given) > 65_535)
    throw new UsageError(`--port takes a number up to 65535, not ${given}`);
  return Number(given);
}

function withoutPassword(address: string): string {
  try {
    const { protocol, host, pathname } = new URL(address);
    return `${protocol}//${host}${pathname}`;
  } catch {
    return "Postgres";
  }
}

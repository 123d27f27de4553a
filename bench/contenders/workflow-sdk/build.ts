/** Compiles its workflows, as a build of a framework would: into a bundle for its sandbox, and one of steps for Node. */
import { readdirSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { BaseBuilder, createBaseBuilderConfig } from "@workflow/builders";

const apps = fileURLToPath(new URL("apps", import.meta.url));

/** What the build writes for an app. */
export function outputOf(app: string): { flow: string; step: string; ids: string } {
  const folder = join(apps, app, ".well-known", "workflow", "v1");
  return { flow: join(folder, "flow.mjs"), step: join(folder, "step.mjs"), ids: join(folder, "ids.json") };
}

class Builder extends BaseBuilder {
  constructor(readonly app: string) {
    super({
      ...createBaseBuilderConfig({ workingDir: join(apps, app) }),
      buildTarget: "next",
      suppressCreateWorkflowsBundleLogs: true,
      suppressCreateManifestLogs: true,
    } as never);
  }

  async build(): Promise<void> {
    const inputFiles = [join(apps, this.app, "workflows.js")];
    const { flow, step, ids } = outputOf(this.app);
    await mkdir(join(flow, ".."), { recursive: true });
    const { manifest } = await this.createWorkflowsBundle({
      outfile: flow,
      bundleFinalOutput: false,
      format: "esm",
      inputFiles,
    });
    await this.createStepsBundle({ outfile: step, externalizeNonSteps: true, format: "esm", inputFiles });
    const named = Object.values(manifest.workflows ?? {}).flatMap((file) =>
      Object.entries(file).map(([name, { workflowId }]) => [name, workflowId]),
    );
    await writeFile(ids, JSON.stringify(Object.fromEntries(named)));
  }
}

export async function buildAll(): Promise<void> {
  // SWC leaves a cache in the folder that the process is in.
  const before = process.cwd();
  process.chdir(apps);
  try {
    for (const app of readdirSync(apps).filter((name) => !name.startsWith("."))) await new Builder(app).build();
  } finally {
    process.chdir(before);
  }
}

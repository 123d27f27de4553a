/** What answers differently each time, or acts on the world: by origin (see origins.ts). */
import type { DiagnosticCode } from "./table.js";

const words = (text: string): string[] => text.trim().split(/\s+/);

/** Functions whose call is impure whatever its arguments are. */
const calls = new Map<string, DiagnosticCode>([
  ...words(`Date.now Date performance.now node:perf_hooks.performance.now Temporal.Now.instant Temporal.Now.plainDateISO
    Temporal.Now.plainDateTimeISO Temporal.Now.plainTimeISO Temporal.Now.zonedDateTimeISO process.hrtime
    process.hrtime.bigint process.uptime node:process.hrtime node:process.hrtime.bigint node:process.uptime
    node:os.uptime`).map((name) => [name, "STEPMARK3001"] as const),
  ...words(`Math.random crypto.randomUUID crypto.getRandomValues node:crypto.randomUUID node:crypto.getRandomValues
    node:crypto.randomBytes node:crypto.randomInt node:crypto.randomFill node:crypto.randomFillSync
    node:crypto.webcrypto.randomUUID node:crypto.webcrypto.getRandomValues node:crypto.generateKeyPair
    node:crypto.generateKeyPairSync node:crypto.generateKey node:crypto.generateKeySync uuid.v1 uuid.v4 uuid.v6 uuid.v7
    nanoid.nanoid ulid.ulid @paralleldrive/cuid2.createId`).map((name) => [name, "STEPMARK3002"] as const),
  ...words(`process.cwd process.memoryUsage node:process.cwd node:process.memoryUsage node:os.hostname node:os.cpus
    node:os.freemem node:os.loadavg node:os.networkInterfaces node:os.tmpdir node:os.homedir node:os.userInfo`).map(
    (name) => [name, "STEPMARK3003"] as const,
  ),
  ...words(`setTimeout setInterval setImmediate requestAnimationFrame AbortSignal.timeout node:timers.setTimeout
    node:timers.setInterval node:timers.setImmediate node:timers/promises.setTimeout node:timers/promises.setInterval
    node:timers/promises.setImmediate node:timers/promises.scheduler.wait node:timers.promises.setTimeout`).map(
    (name) => [name, "STEPMARK3004"] as const,
  ),
  ...words(`fetch axios got ky node-fetch undici.fetch undici.request`).map((name) => [name, "STEPMARK3005"] as const),
  ...words(`axios got ky`).flatMap((client) =>
    words(`request get post put patch delete head`).map((name) => [`${client}.${name}`, "STEPMARK3005"] as const),
  ),
  // An app's own doors: a run that is begun here would be begun again. `child` is recorded.
  ...words(`start resume recover enqueue answer send cancel get list entries`).map(
    (name) => [`new stepmark.Stepmark.${name}`, "STEPMARK3005"] as const,
  ),
]);

/** Variables of the process. */
const reads = new Map<string, DiagnosticCode>(
  words(`process.env process.argv node:process.env node:process.argv import.meta.env`).map((name) => [
    name,
    "STEPMARK3003",
  ]),
);

/** Classes whose objects are impure; `Date` only without arguments. */
const classes = new Map<string, DiagnosticCode>(
  words(`WebSocket EventSource XMLHttpRequest`).map((name) => [name, "STEPMARK3005"]),
);

/** Modules all of whose functions do I/O, but for those that only answer from their arguments. */
const modules = words(`node:fs node:fs/promises node:http node:https node:http2 node:net node:dgram node:dns
  node:dns/promises node:tls node:child_process node:readline node:readline/promises`);
const pure = /^(?:is[A-Z]|validate[A-Z]|create(?:Secure)?Context$|constants\b|getSystemErrorName)|\.constants\b/;

/** What is impure about calling a function with so many arguments; undefined if nothing is. */
export function impureCall(origin: string): DiagnosticCode | undefined {
  const known = calls.get(origin);
  if (known !== undefined) return known;
  if (!origin.startsWith("node:")) return undefined;
  const module = modules.find((name) => origin.startsWith(`${name}.`));
  if (module === undefined || pure.test(origin.slice(module.length + 1))) return undefined;
  return "STEPMARK3005";
}

/** `new Date()` reads the clock, `new Date(0)` does not. */
export function impureConstruction(origin: string, hasArguments: boolean): DiagnosticCode | undefined {
  if (origin === "Date") return hasArguments ? undefined : "STEPMARK3001";
  return classes.get(origin);
}

export function impureRead(origin: string): DiagnosticCode | undefined {
  return reads.get(origin);
}

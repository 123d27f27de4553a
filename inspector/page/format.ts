/** Times, stretches of time and sizes for people. */

/** `3 ms`, `1.25 s`, `4 min 10 s`, `2 h 5 min`, `3 d 4 h`. */
export function duration(ms: number): string {
  if (!(ms >= 0)) return "0 ms";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${trimmed(ms / 1_000, ms < 9_995 ? 2 : 1)} s`;
  const units: ReadonlyArray<readonly [size: number, name: string]> = [
    [86_400_000, "d"],
    [3_600_000, "h"],
    [60_000, "min"],
    [1_000, "s"],
  ];
  const at = units.findIndex(([size]) => ms >= size);
  const [size, name] = units[at] ?? units[3]!;
  const whole = Math.floor(ms / size);
  const next = units[at + 1];
  const rest = next === undefined ? 0 : Math.floor((ms - whole * size) / next[0]);
  return rest > 0 && next !== undefined ? `${whole} ${name} ${rest} ${next[1]}` : `${whole} ${name}`;
}

function trimmed(value: number, digits: number): string {
  return value.toFixed(digits).replace(/\.?0+$/, "");
}

/** How long ago, in one word: `now`, `12 s`, `3 min`, `2 h`, `5 d`. */
export function age(ms: number): string {
  if (ms < 1_500) return "now";
  if (ms < 60_000) return `${Math.floor(ms / 1_000)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min`;
  if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)} h`;
  return `${Math.floor(ms / 86_400_000)} d`;
}

const clock = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
  hourCycle: "h23",
});
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });

/** `30 Nov 2026, 01:26:14.120`. A journal may hold any number. */
export function moment(time: number): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return String(time);
  return `${day.format(date)}, ${clock.format(date)}`;
}

/** `512 characters`, `8 k`, `10.4 M` characters. */
export function characters(count: number): string {
  if (count < 10_000) return `${count.toLocaleString("en")} characters`;
  if (count < 1_000_000) return `${Math.round(count / 1_000)} k characters`;
  return `${(count / 1_000_000).toFixed(1)} M characters`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** The token that this page was opened with. It leaves the address bar at once, and stays for this tab alone. */

const name = "stepmark-token";

export function takeToken(): string | undefined {
  const given = /^#token=([\w-]+)$/.exec(location.hash)?.[1];
  if (given !== undefined) {
    sessionStorage.setItem(name, given);
    history.replaceState(null, "", "#/");
  }
  return sessionStorage.getItem(name) ?? undefined;
}

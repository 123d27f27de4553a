/** The inspector's page. */
import { type JSX, render } from "preact";
import { useCallback, useEffect, useState } from "preact/hooks";
import type { About } from "../wire.js";
import { api, hasToken } from "./api.js";
import { Drawing } from "./glyphs.js";
import { RunList } from "./run-list.js";
import { RunView } from "./run-view.js";
import { type Theme, useTheme } from "./theme.js";

/** The run that the address names. */
function openRun(): string | undefined {
  const [, id] = /^#\/runs\/(.+)$/.exec(location.hash) ?? [];
  try {
    return id === undefined ? undefined : decodeURIComponent(id);
  } catch {
    return undefined;
  }
}

function Page(): JSX.Element {
  const { theme, shown, set } = useTheme();
  const [open, setOpen] = useState(openRun);
  const [about, setAbout] = useState<About | undefined>();
  useEffect(() => {
    const changed = (): void => setOpen(openRun());
    addEventListener("hashchange", changed);
    // It may have changed since the first look.
    changed();
    api.about().then(setAbout, () => {});
    return () => removeEventListener("hashchange", changed);
  }, []);
  useEffect(() => {
    document.title = open === undefined ? "stepmark" : `${open} · stepmark`;
  }, [open]);
  const onOpen = useCallback((id: string) => {
    location.hash = `#/runs/${encodeURIComponent(id)}`;
  }, []);
  const onBack = useCallback(() => {
    location.hash = "#/";
  }, []);
  return (
    <div class="page" data-view={open === undefined ? "list" : "run"}>
      <header class="top">
        <p class="brand">
          <svg viewBox="0 0 32 32" width="20" height="20" aria-hidden="true" focusable="false">
            <rect width="32" height="32" rx="7" fill="var(--accent)" />
            <path d="M7 10h13M7 16h18M7 22h9" stroke="var(--surface)" stroke-width="3.2" stroke-linecap="round" />
          </svg>
          stepmark
        </p>
        {about !== undefined && <bdi class="store muted">{about.store}</bdi>}
        <Themes theme={theme} onChange={set} />
      </header>
      <RunList open={open} onOpen={onOpen} />
      <main>
        {open === undefined ? (
          <Welcome />
        ) : (
          <RunView key={open} id={open} about={about} theme={shown} onOpenRun={onOpen} onBack={onBack} />
        )}
      </main>
    </div>
  );
}

/** What stands where a run will be. */
function Welcome(): JSX.Element {
  return (
    <section class="welcome" aria-labelledby="welcome">
      <svg viewBox="0 0 96 48" width="96" height="48" aria-hidden="true" focusable="false">
        <path d="M4 8h32M44 8h14M12 24h20M40 24h36M28 40h42" />
        <path class="next" d="M80 40h14" />
      </svg>
      <h1 id="welcome">Choose a run</h1>
      <p>Its timeline, its scopes and its journal are shown here, entry by entry if you like.</p>
      <p class="keys">
        <kbd>↑</kbd> <kbd>↓</kbd> go through the list, <kbd>Enter</kbd> opens
      </p>
    </section>
  );
}

const themes = [
  ["system", "system", "As the system is"],
  ["light", "sun", "Light"],
  ["dark", "moon", "Dark"],
] as const;

function Themes({ theme, onChange }: { theme: Theme; onChange(theme: Theme): void }): JSX.Element {
  return (
    <div class="switch themes" role="group" aria-label="Colours">
      {themes.map(([name, drawing, label]) => (
        <button
          key={name}
          type="button"
          aria-pressed={theme === name}
          aria-label={label}
          title={label}
          onClick={() => onChange(name)}
        >
          <Drawing of={drawing} />
        </button>
      ))}
    </div>
  );
}

function Locked(): JSX.Element {
  return (
    <main class="locked">
      <h1>stepmark</h1>
      <p>This page needs the token. Open the address that `stepmark ui` has printed in the terminal.</p>
    </main>
  );
}

const root = document.getElementById("page")!;
root.replaceChildren();
render(hasToken ? <Page /> : <Locked />, root);

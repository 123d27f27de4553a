/** Light or dark: as the system is, or as the user has said. */
import { useEffect, useState } from "preact/hooks";

export type Theme = "system" | "light" | "dark";

const name = "stepmark-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

export function useTheme(): { theme: Theme; shown: "light" | "dark"; set(theme: Theme): void } {
  const [theme, setTheme] = useState<Theme>(() => {
    const kept = localStorage.getItem(name);
    return kept === "light" || kept === "dark" ? kept : "system";
  });
  const [systemDark, setSystemDark] = useState(dark.matches);
  useEffect(() => {
    const changed = (): void => setSystemDark(dark.matches);
    dark.addEventListener("change", changed);
    return () => dark.removeEventListener("change", changed);
  }, []);
  const shown = theme === "system" ? (systemDark ? "dark" : "light") : theme;
  document.documentElement.dataset.theme = shown;
  return {
    theme,
    shown,
    set(chosen) {
      if (chosen === "system") localStorage.removeItem(name);
      else localStorage.setItem(name, chosen);
      setTheme(chosen);
    },
  };
}

/** Local storage key of the choice, `light` or `dark`. Without one, the system's setting applies. */
const KEY = "plaudit.theme";

type ThemeName = "light" | "dark";

function apply(theme: string | null) {
  if (theme) document.documentElement.dataset.theme = theme;
}

const current = (): ThemeName =>
  (document.documentElement.dataset.theme as ThemeName | undefined) ??
  (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

export const Theme = {
  /** Applies the stored choice. */
  restore: () => apply(Theme.chosen()),

  /** `null` without a choice. */
  chosen: () => localStorage.getItem(KEY) as ThemeName | null,

  toggle() {
    const theme = current() === "dark" ? "light" : "dark";
    localStorage.setItem(KEY, theme);
    apply(theme);
  },
};

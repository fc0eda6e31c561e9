/** Local storage key of the choice, `light` or `dark`. Without one, the system's setting applies. */
const KEY = "plaudit.theme";

type Look = "light" | "dark";

function show(look: string | null) {
  if (look) document.documentElement.dataset.theme = look;
}

const shown = (): Look =>
  (document.documentElement.dataset.theme as Look | undefined) ??
  (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

export const Theme = {
  /** As chosen before. */
  restore: () => show(Theme.chosen()),

  /** `null` without a choice. */
  chosen: () => localStorage.getItem(KEY) as Look | null,

  turn() {
    const look = shown() === "dark" ? "light" : "dark";
    localStorage.setItem(KEY, look);
    show(look);
  },
};

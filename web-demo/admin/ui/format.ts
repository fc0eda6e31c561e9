const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const short = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });

/** A number and its unit, separate because they are styled differently. */
export type FormattedNumber = [number: string, unit: string];

export const NOTHING = "–";

type Format = (value: number) => FormattedNumber;

export const count =
  (unit: string): Format =>
  (value) => [compact.format(value), unit];

/** A rate above 0 is never shown as 0, but as `<0.1`. */
export const perSecond =
  (unit: string): Format =>
  (value) => [value > 0 && value < 0.05 ? "<0.1" : value < 100 ? short.format(value) : compact.format(value), unit];

/** Milliseconds below a second. */
export const duration: Format = (seconds) => {
  if (seconds === 0) return ["0", "s"];
  if (seconds < 1) return [seconds > 0 && seconds < 0.0001 ? "<0.1" : short.format(seconds * 1000), "ms"];
  if (seconds < 60) return [short.format(seconds), "s"];
  if (seconds < 7200) return [short.format(seconds / 60), "min"];
  return [short.format(seconds / 3600), "h"];
};

export const bytes: Format = (value) => {
  const units = ["B", "KiB", "MiB", "GiB"];
  const power = Math.min(Math.floor(Math.log2(Math.max(value, 1)) / 10), units.length - 1);
  return [short.format(value / 1024 ** power), units[power]!];
};

export const percent: Format = (share) => [short.format(share * 100), "%"];

export const time = (at: number): string => clock.format(at);

/** As one text, such as `12 ms`. */
export const words = (value: number | undefined, format: Format): string =>
  value === undefined ? NOTHING : format(value).join(" ").trim();

export type { Format };

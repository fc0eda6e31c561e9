/** A time series: a name and its labels. The same object at every reading, so that it can be a key. */
export interface Series {
  name: string;
  labels: Readonly<Record<string, string>>;
}

/** The values of one reading. */
export type Exposition = ReadonlyMap<Series, number>;

/**
 * Reads the text format of Prometheus, version 0.0.4: `name{label="value"} number`, optionally followed by a
 * timestamp. It skips comments and malformed lines, so that one of them does not hide the others.
 *
 * Not a library: the only parser in npm is unmaintained since 2019 and creates objects for thousands of lines each
 * second. Here labels are parsed when a series first appears; after that its text is looked up.
 */
export class ExpositionReader {
  #seriesByText = new Map<string, Series>();

  read(text: string): Exposition {
    const values = new Map<Series, number>();
    for (const line of text.split("\n")) {
      const [, seriesText, number] = LINE.exec(line) ?? [];
      const series = seriesText && this.#series(seriesText);
      const value = number && toNumber(number);
      if (series && typeof value === "number") values.set(series, value);
    }
    return values;
  }

  #series(text: string): Series | undefined {
    const cached = this.#seriesByText.get(text);
    if (cached) return cached;
    const series = parseSeries(text);
    if (series) this.#seriesByText.set(text, series);
    return series;
  }
}

/** Name and labels, then the number. A label's value may contain braces; a timestamp may follow. */
const LINE = /^\s*([a-zA-Z_:][\w:]*\s*(?:\{(?:"(?:[^"\\]|\\.)*"|[^"}])*\})?)\s*(\S+)/;
const SERIES = /^([\w:]+)\s*(?:\{(.*)\})?\s*$/s;
const LABEL = /\s*([a-zA-Z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(,|$)/gy;

function parseSeries(text: string): Series | undefined {
  const [, name, inside = ""] = SERIES.exec(text) ?? [];
  if (!name) return undefined;
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < inside.trimEnd().length) {
    const label = LABEL.exec(inside);
    if (!label) return undefined;
    labels[label[1]!] = unescaped(label[2]!);
  }
  return { name, labels };
}

/** In a label's value a backslash escapes quotes, backslashes and line breaks (`\n`). */
const unescaped = (value: string) => value.replace(/\\(.)/gs, (_, sign) => (sign === "n" ? "\n" : sign));

const WORDS: Record<string, number> = { "+Inf": Infinity, Inf: Infinity, "-Inf": -Infinity, NaN };

/** A number as Go writes it; `le` of a histogram's last bucket is `+Inf`. */
export function toNumber(text: string): number | undefined {
  if (text in WORDS) return WORDS[text];
  const value = Number(text);
  return text === "" || Number.isNaN(value) ? undefined : value;
}

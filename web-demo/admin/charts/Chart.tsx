import { type PointerEvent, useState } from "react";
import { useMonitorState } from "../metrics/useMonitor";
import { type Moment } from "../metrics/tracks";
import { type Format, duration, time, words } from "../ui/format";
import styles from "./Chart.module.css";

/** The longest period; a new page shows a shorter one, so that its charts are not nearly empty. */
const LONGEST_MS = 10 * 60 * 1_000;
const SHORTEST_MS = 60 * 1_000;
/** Points farther apart than this are not joined: the page was hidden or the server unreachable. */
const GAP_MS = 3_500;
/** Size of the coordinate system, which is stretched to the chart's place; the width of lines is not. */
const WIDTH = 600;
const HEIGHT = 100;

export interface Line {
  /** Name in `tracks.ts`. */
  track: string;
  name: string;
  colour: "brand" | "like" | "collect" | "talk" | "good" | "bad";
}

interface Props {
  label: string;
  lines: Line[];
  format: Format;
}

/**
 * A line chart of up to ten minutes. SVG instead of a canvas library: CSS applies the theme, screen readers get the
 * numbers, and an update costs one path a second.
 */
export function Chart({ label, lines, format }: Props) {
  const { history } = useMonitorState();
  const [selected, setSelected] = useState<Moment>();
  const end = history.at(-1)?.at ?? Date.now();
  const span = spanOf(history, end);
  const values = lines.flatMap(({ track }) => history.flatMap(({ numbers }) => numbers[track] ?? []));
  const top = roundTop(Math.max(0, ...values));
  const x = (at: number) => WIDTH - ((end - at) / span) * WIDTH;
  const y = (value: number) => HEIGHT - (value / top) * (HEIGHT - 4) - 1;

  function point({ currentTarget, clientX }: PointerEvent) {
    const { left, width } = currentTarget.getBoundingClientRect();
    const at = end - (1 - (clientX - left) / width) * span;
    setSelected(nearest(history, at));
  }

  return (
    <figure className={styles.chart} onPointerMove={point} onPointerLeave={() => setSelected(undefined)}>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={describe(label, lines, history, format)}
      >
        <path className={styles.ground} d={`M0 ${HEIGHT - 0.5}H${WIDTH}`} />
        {lines.map(({ track, colour }) => (
          <Track key={track} colour={colour} d={path(history, track, x, y)} />
        ))}
        {selected && <path className={styles.pointer} d={`M${x(selected.at)} 0V${HEIGHT}`} />}
      </svg>
      <figcaption className={styles.caption} aria-hidden="true">
        {selected ? (
          <>
            <span>{time(selected.at)}</span>
            {lines.map(({ track, name, colour }) => (
              <span key={track} className={styles[colour]}>
                {lines.length > 1 && `${name} `}
                {words(selected.numbers[track], format)}
              </span>
            ))}
          </>
        ) : (
          <>
            <span>{words(span / 1000, duration)}</span>
            {lines.length > 1 &&
              lines.map(({ track, name, colour }) => (
                <span key={track} className={styles[colour]}>
                  {name}
                </span>
              ))}
            <span>up to {words(top, format)}</span>
          </>
        )}
      </figcaption>
    </figure>
  );
}

function Track({ colour, d }: { colour: Line["colour"]; d: string[] }) {
  return (
    <g className={styles[colour]}>
      {d.map((line, i) => (
        <path key={i} className={styles.line} d={line} />
      ))}
    </g>
  );
}

/** One path for each stretch without a gap. */
function path(history: readonly Moment[], track: string, x: (at: number) => number, y: (value: number) => number) {
  const paths: string[] = [];
  let before = -Infinity;
  for (const { at, numbers } of history) {
    const value = numbers[track];
    if (value === undefined) continue;
    const place = `${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
    if (at - before > GAP_MS) paths.push(`M${place}h0`);
    else paths[paths.length - 1] += `L${place}`;
    before = at;
  }
  return paths;
}

function nearest(history: readonly Moment[], at: number): Moment | undefined {
  const distance = (moment: Moment) => Math.abs(moment.at - at);
  return history.reduce<Moment | undefined>(
    (best, moment) => (best && distance(best) <= distance(moment) ? best : moment),
    undefined,
  );
}

/** The period: 1, 2, 5 or 10 minutes, so that the scale does not change each second. */
function spanOf(history: readonly Moment[], end: number): number {
  const elapsed = end - (history[0]?.at ?? end);
  return [1, 2, 5].map((minutes) => minutes * SHORTEST_MS).find((span) => span >= elapsed) ?? LONGEST_MS;
}

/** The next 1, 2 or 5 times a power of ten, so that the scale is steady. */
function roundTop(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 2, 5, 10].find((step) => step * power >= value)!;
}

function describe(label: string, lines: Line[], history: readonly Moment[], format: Format): string {
  const parts = lines.map(({ track, name }) => {
    const values = history.flatMap(({ numbers }) => numbers[track] ?? []);
    if (values.length === 0) return `${name}: nothing yet`;
    const [now, least, most] = [values.at(-1), Math.min(...values), Math.max(...values)];
    return `${name}: now ${words(now, format)}, between ${words(least, format)} and ${words(most, format)}`;
  });
  return `${label}, up to the last ten minutes. ${parts.join(". ")}.`;
}

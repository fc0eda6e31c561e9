import styles from "./Bars.module.css";

interface Props {
  values: number[];
  /** The number of bars that fit; fewer start at the left. */
  most: number;
  /** Description for screen readers. */
  label: string;
}

/** A small bar chart, scaled to the highest bar. */
export function Bars({ values, most, label }: Props) {
  const highest = Math.max(...values, 1);
  const shown = values.slice(-most);
  return (
    <svg
      className={styles.bars}
      viewBox={`0 0 ${most} 100`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${label}: ${Math.round(shown.at(-1) ?? 0)} now, ${Math.round(highest)} at most`}
    >
      {shown.map((value, place) => {
        const height = Math.max((value / highest) * 100, 2);
        return <rect key={place} x={place + 0.12} y={100 - height} width={0.76} height={height} />;
      })}
    </svg>
  );
}

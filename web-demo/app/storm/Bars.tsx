import styles from "./Bars.module.css";

interface Props {
  values: number[];
  /** The width of the chart in bars; fewer bars start at the left. */
  max: number;
  /** Description for screen readers. */
  label: string;
}

/** A small bar chart, scaled to the highest bar. */
export function Bars({ values, max, label }: Props) {
  const highest = Math.max(...values, 1);
  const visible = values.slice(-max);
  return (
    <svg
      className={styles.bars}
      viewBox={`0 0 ${max} 100`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${label}: ${Math.round(visible.at(-1) ?? 0)} now, ${Math.round(highest)} at most`}
    >
      {visible.map((value, i) => {
        const height = Math.max((value / highest) * 100, 2);
        return <rect key={i} x={i + 0.12} y={100 - height} width={0.76} height={height} />;
      })}
    </svg>
  );
}

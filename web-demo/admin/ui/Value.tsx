import { type Format, NOTHING } from "./format";
import styles from "./Value.module.css";

interface Props {
  value: number | undefined;
  format: Format;
  /** Needs attention. */
  isBad?: boolean;
}

/** A number with its unit; a dash if it is unknown. */
export function Value({ value, format, isBad = false }: Props) {
  const [number, unit] = value === undefined ? [NOTHING, ""] : format(value);
  return (
    <span className={styles.value} data-bad={isBad || undefined}>
      {number}
      {unit && <span className={styles.unit}> {unit}</span>}
    </span>
  );
}

import { type ReactNode } from "react";
import { type Explanation } from "../panels/explained";
import styles from "./Figure.module.css";
import { Tip } from "./Tip";
import { Value } from "./Value";
import { type Format } from "./format";

interface Props {
  about: Explanation;
  /** Replaces the explanation's title where the context is clear. */
  label?: string;
  value: number | undefined;
  format: Format;
  isBad?: boolean;
  size?: "huge" | "large" | "plain";
  /** Beside the number, such as its limit. */
  beside?: ReactNode;
  /** Below it, such as a chart. */
  children?: ReactNode;
}

/** A number with its name and its explanation. */
export function Figure({ about, label, value, format, isBad, size = "plain", beside, children }: Props) {
  return (
    <div className={styles.figure} data-size={size}>
      <div className={styles.label}>
        {label ?? about.title}
        <Tip of={about} />
      </div>
      <div className={styles.number}>
        <Value value={value} format={format} isBad={isBad} />
        {beside && <span className={styles.beside}>{beside}</span>}
      </div>
      {children}
    </div>
  );
}

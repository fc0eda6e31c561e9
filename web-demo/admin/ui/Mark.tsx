import { type ReactNode } from "react";
import { type Explanation } from "../panels/explained";
import styles from "./Mark.module.css";
import { Tip } from "./Tip";

/** A state in words, with a coloured dot; the colour adds no information. */
export function Mark({ is, about, children }: { is: "good" | "bad" | "unknown"; about?: Explanation; children: ReactNode }) {
  return (
    <span className={styles.mark} data-is={is}>
      <i aria-hidden="true" />
      {is === "unknown" ? "Unknown" : children}
      {about && <Tip of={about} />}
    </span>
  );
}

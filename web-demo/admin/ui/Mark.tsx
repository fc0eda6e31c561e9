import { type ReactNode } from "react";
import { type Explanation } from "../panels/explained";
import styles from "./Mark.module.css";
import { Tip } from "./Tip";

/** A state in a word, with a dot: the word says it, the colour only helps. */
export function Mark({ is, about, children }: { is: "good" | "bad" | "unknown"; about?: Explanation; children: ReactNode }) {
  return (
    <span className={styles.mark} data-is={is}>
      <i aria-hidden="true" />
      {is === "unknown" ? "Not known" : children}
      {about && <Tip of={about} />}
    </span>
  );
}

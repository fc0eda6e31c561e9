import { ChevronRight } from "lucide-react";
import { type ReactNode, useState } from "react";
import styles from "./Row.module.css";

/** A row that expands. Its content is rendered at the first expansion. */
export function Row({ line, children }: { line: ReactNode; children: () => ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <li className={styles.row}>
      <button className={styles.line} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <ChevronRight size={15} aria-hidden="true" className={styles.arrow} />
        {line}
      </button>
      {isOpen && <div className={styles.inside}>{children()}</div>}
    </li>
  );
}

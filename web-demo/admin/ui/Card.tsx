import { type ReactNode, useId } from "react";
import styles from "./Card.module.css";

/** A part of the page under a heading. */
export function Card({ title, aside, children, span = 1 }: { title: string; aside?: ReactNode; children: ReactNode; span?: 1 | 2 | 3 }) {
  const id = useId();
  return (
    <section className={styles.card} data-span={span} aria-labelledby={id}>
      <header className={styles.head}>
        <h2 id={id}>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}

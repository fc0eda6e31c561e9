import { type ReactNode } from "react";
import styles from "./Bar.module.css";

/** A row below the head of a page, for more tabs than fit beside a title. It stays while one scrolls. */
export function Bar({ children }: { children: ReactNode }) {
  return <div className={styles.bar}>{children}</div>;
}

import { type ReactNode } from "react";
import styles from "./Bar.module.css";

/** A sticky row below the page head, for more tabs than fit beside a title. */
export function Bar({ children }: { children: ReactNode }) {
  return <div className={styles.bar}>{children}</div>;
}

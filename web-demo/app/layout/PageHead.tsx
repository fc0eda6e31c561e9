import { ArrowLeft } from "lucide-react";
import { type ReactNode, useEffect } from "react";
import styles from "./PageHead.module.css";

/** The bar above a page; it stays while one scrolls. `back` adds the way to where one came from. */
export function PageHead({ title, back = false, children }: { title: string; back?: boolean; children?: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Plaudit`;
  }, [title]);
  return (
    <header className={styles.head}>
      {back && (
        <button aria-label="Back" className={styles.back} onClick={() => history.back()}>
          <ArrowLeft size={20} />
        </button>
      )}
      <h1>{title}</h1>
      {children}
    </header>
  );
}

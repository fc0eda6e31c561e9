import { ArrowLeft } from "lucide-react";
import { type ReactNode, useContext, useEffect } from "react";
import { FrameContext } from "./frame";
import styles from "./PageHead.module.css";

/** The sticky bar above a page. `back` adds a back button. */
export function PageHead({ title, back = false, children }: { title: string; back?: boolean; children?: ReactNode }) {
  const frame = useContext(FrameContext);
  useEffect(() => frame.setTitle(title), [frame, title]);
  return (
    <header className={styles.head}>
      {back && (
        <button aria-label="Back" className={styles.back} onClick={frame.back}>
          <ArrowLeft size={20} />
        </button>
      )}
      <h1>{title}</h1>
      {children}
    </header>
  );
}

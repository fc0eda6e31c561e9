import { type Ref, useEffect, useId, useRef, useState } from "react";
import { type CommentOrder } from "../../shared/api/generated";
import { Count } from "../../shared/ui/Count";
import { Tabs } from "../controls/Tabs";
import { CommentComposer } from "./CommentComposer";
import styles from "./Comments.module.css";
import { Thread } from "./Thread";

const ORDERS: { value: CommentOrder; text: string }[] = [
  { value: "HOT", text: "Hot" },
  { value: "NEWEST", text: "Newest" },
];

interface Props {
  note: { id: string; commentCount: number };
  ref: Ref<HTMLElement>;
}

/** The comments on a note and the form for a new one. */
export function Comments({ note: { id: noteId, commentCount }, ref }: Props) {
  const titleId = useId();
  const [orderBy, setOrderBy] = useState<CommentOrder>("HOT");
  /** How often the thread was read again from its first page. */
  const [readings, setReadings] = useState(0);
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (location.hash === "#comments") title.current?.scrollIntoView();
  }, []);
  return (
    <section ref={ref} aria-labelledby={titleId}>
      <header className={styles.head}>
        <h2 id={titleId} ref={title} tabIndex={-1}>
          Comments <Count value={commentCount} />
        </h2>
        <Tabs label="Order of the comments" options={ORDERS} value={orderBy} onChange={setOrderBy} />
      </header>
      <div className={styles.composer}>
        <CommentComposer noteId={noteId} />
      </div>
      <Thread
        key={`${orderBy} ${readings}`}
        noteId={noteId}
        orderBy={orderBy}
        onReadAgain={() => setReadings((n) => n + 1)}
      />
    </section>
  );
}

import { Search } from "lucide-react";
import { type FormEvent, useId, useState } from "react";
import { useQuery } from "urql";
import { ExplainDocument } from "../../shared/api/generated";
import { Button } from "../../shared/ui/Button";
import { sentence } from "../../shared/ui/States";
import { Card } from "../ui/Card";
import { Explained, type Explanation } from "./Explained";
import styles from "./explain.module.css";

/** Asks for an id, and shows where the numbers of that object come from: the document of `plaudit explain`. */
export function Explain() {
  const id = useId();
  const [asked, setAsked] = useState("");
  const [{ data, error, fetching }, ask] = useQuery({
    query: ExplainDocument,
    variables: { id: asked },
    pause: !asked,
    requestPolicy: "network-only",
  });

  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const wanted = String(new FormData(event.currentTarget).get("id")).trim();
    if (wanted === asked) ask();
    setAsked(wanted);
  }

  const of = asked && !fetching && !error ? (data?.explain as Explanation | null) : undefined;
  return (
    <Card title="Explain a number" span={3}>
      <form className={styles.form} onSubmit={submit}>
        <label htmlFor={id}>Id of a user, note, comment or group</label>
        <input id={id} name="id" required placeholder="note_42" autoComplete="off" autoCapitalize="off" spellCheck={false} />
        <Button look="primary" type="submit" disabled={fetching}>
          <Search size={16} aria-hidden="true" /> Explain
        </Button>
      </form>
      <div role="status" aria-busy={fetching || undefined} className={styles.answer}>
        {!asked && <p className={styles.soft}>Where an object’s counts come from, and whether PostgreSQL and Redis agree.</p>}
        {fetching && <p className={styles.soft}>Counting the rows of {asked}…</p>}
        {!fetching && error && <p className={styles.problem}>{sentence(error)}</p>}
        {of === null && <p className={styles.problem}>There never was a {asked}.</p>}
        {of && <Explained of={of} />}
      </div>
    </Card>
  );
}

import { Square, Zap } from "lucide-react";
import { exactly } from "../../shared/ui/Count";
import { Button } from "../../shared/ui/Button";
import { useDevelopmentUsers } from "../viewer/useDevelopmentUsers";
import { Bars } from "./Bars";
import styles from "./StormPanel.module.css";
import { SECONDS, USERS } from "./storm";
import { useStorm } from "./useStorm";

/** Runs hundreds of simulated users on the visible notes. Development servers only. */
export function StormPanel() {
  const isDevelopment = useDevelopmentUsers().length > 0;
  return isDevelopment && <Panel />;
}

function Panel() {
  const { lines, running, problem, start, stop } = useStorm();
  const last = lines.at(-1);
  return (
    <section className={styles.storm} aria-labelledby="storm">
      <h2 id="storm">Run a storm</h2>
      <p>
        {USERS} simulated users like, collect and follow for {SECONDS} seconds, through the same API as you.
      </p>
      {(running || last) && (
        <>
          <p className={styles.rate}>
            <strong>{exactly(running ? (last?.perSecond ?? 0) : average(last))}</strong>
            {running ? "actions per second" : "actions per second, on average"}
          </p>
          <Bars values={lines.map(({ perSecond }) => perSecond)} max={SECONDS * 4} label="Actions per second" />
        </>
      )}
      <div className={styles.foot}>
        {running ? (
          <Button onClick={stop}>
            <Square size={14} aria-hidden="true" /> Stop
          </Button>
        ) : (
          <Button look="primary" onClick={() => start(notesOnScreen())}>
            <Zap size={16} aria-hidden="true" /> {last ? "Run again" : "Start"}
          </Button>
        )}
        <p role="status">
          {problem ?? (!running && last && `${exactly(last.acted)} actions, ${failures(last.failed)}.`)}
        </p>
      </div>
    </section>
  );
}

type Line = ReturnType<typeof useStorm>["lines"][number];

const average = (line: Line | undefined) => (line ? Math.round((line.acted * 1000) / Math.max(line.elapsedMs, 1)) : 0);

const failures = (failed: number) => (failed === 0 ? "none failed" : `${exactly(failed)} failed`);

/** The server's limit for one storm. */
const MAX_NOTES = 100;

/** Ids of the notes on the screen; if there are none, the server chooses notes. */
function notesOnScreen(): string[] {
  const cards = [...document.querySelectorAll<HTMLElement>("[data-note]")].filter((card) => {
    const { top, bottom } = card.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
  });
  return [...new Set(cards.map((card) => card.dataset.note!))].slice(0, MAX_NOTES);
}

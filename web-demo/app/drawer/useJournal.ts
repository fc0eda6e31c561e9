import { useEffect, useState } from "react";
import { useApi } from "../../shared/api/client";

/** Minimum time between two renderings, in milliseconds. */
const RENDER_MS = 250;

/** The entries of the journal, updated a few times per second; `paused` stops the updates. */
export function useJournal(paused: boolean) {
  const { journal } = useApi();
  const [entries, setEntries] = useState(() => ({ operations: journal.operations, frames: journal.frames }));

  useEffect(() => {
    if (paused) return;
    const show = () => setEntries({ operations: journal.operations, frames: journal.frames });
    show();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = journal.listen(() => {
      timer ??= setTimeout(() => {
        timer = undefined;
        show();
      }, RENDER_MS);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [journal, paused]);

  return entries;
}

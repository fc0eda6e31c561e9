import { useEffect, useState } from "react";
import { useApi } from "../../shared/api/client";

/** Milliseconds between two renderings, however many frames arrive. */
const DRAW_MS = 250;

/** The entries of the journal, updated a few times per second; `paused` stops the updates. */
export function useJournal(paused: boolean) {
  const { journal } = useApi();
  const [shown, setShown] = useState(() => ({ operations: journal.operations, frames: journal.frames }));

  useEffect(() => {
    if (paused) return;
    const show = () => setShown({ operations: journal.operations, frames: journal.frames });
    show();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = journal.listen(() => {
      timer ??= setTimeout(() => {
        timer = undefined;
        show();
      }, DRAW_MS);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [journal, paused]);

  return shown;
}

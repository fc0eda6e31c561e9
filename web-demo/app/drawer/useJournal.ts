import { useEffect, useState } from "react";
import { useApi } from "../../shared/api/client";

/** People read no faster; and hundreds of frames per second are drawn as few times as this says. */
const DRAW_MS = 250;

/** What the journal holds, drawn a few times per second; `paused` holds it as it is. */
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

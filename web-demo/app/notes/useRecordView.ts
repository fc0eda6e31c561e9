import { type RefObject, useEffect } from "react";
import { useApi } from "../../shared/api/client";

/** A note counts as viewed when this share of it was on the screen for this long. */
const SHARE = 0.6;
const LOOK_MS = 800;

/** Counts a view of the note once the element was visible long enough. */
export function useRecordView(ref: RefObject<Element | null>, noteId: string) {
  const { plaudit } = useApi();
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const observer = new IntersectionObserver(
      ([entry]) => {
        clearTimeout(timer);
        if (entry!.isIntersecting) timer = setTimeout(() => plaudit.seen(noteId), LOOK_MS);
      },
      { threshold: SHARE },
    );
    if (ref.current) observer.observe(ref.current);
    return () => {
      clearTimeout(timer);
      observer.disconnect();
    };
  }, [ref, noteId, plaudit]);
}

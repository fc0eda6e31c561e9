import { type ReactNode, type RefObject, createContext, useContext, useEffect, useMemo } from "react";
import { type Client, useClient } from "urql";
import { RecordViewsDocument } from "../../shared/api/generated";

/** The server's limit for one mutation. */
const MAX_IDS = 100;
/** Views are sent in one mutation, this many milliseconds after the first. */
const BATCH_MS = 2_000;
/** A note counts as viewed when this share of it was on the screen for this long. */
const SHARE = 0.6;
const LOOK_MS = 800;

/** Collects views and sends them in batches; each note counts once per visit. */
class Views {
  #viewed = new Set<string>();
  #waiting: string[] = [];

  constructor(private readonly client: Client) {}

  add(noteId: string) {
    if (this.#viewed.has(noteId)) return;
    this.#viewed.add(noteId);
    this.#waiting.push(noteId);
    if (this.#waiting.length === 1) setTimeout(() => this.#send(), BATCH_MS);
  }

  #send() {
    const noteIds = this.#waiting.splice(0, MAX_IDS);
    this.client.mutation(RecordViewsDocument, { noteIds }).toPromise();
    if (this.#waiting.length > 0) this.#send();
  }
}

const ViewsContext = createContext<Views | undefined>(undefined);

export function ViewsProvider({ children }: { children: ReactNode }) {
  const client = useClient();
  const views = useMemo(() => new Views(client), [client]);
  return <ViewsContext value={views}>{children}</ViewsContext>;
}

/** Counts a view of the note once the element was visible long enough. */
export function useRecordView(ref: RefObject<Element | null>, noteId: string) {
  const views = useContext(ViewsContext);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const observer = new IntersectionObserver(
      ([entry]) => {
        clearTimeout(timer);
        if (entry!.isIntersecting) timer = setTimeout(() => views?.add(noteId), LOOK_MS);
      },
      { threshold: SHARE },
    );
    if (ref.current) observer.observe(ref.current);
    return () => {
      clearTimeout(timer);
      observer.disconnect();
    };
  }, [ref, noteId, views]);
}

import { type ReactNode, createContext, useContext, useMemo, useState } from "react";
import { useClient } from "urql";
import { FeedChangedDocument, FeedDocument } from "../../shared/api/generated";
import { useChanges } from "../../shared/lists/useChanges";

/** What is new in the feed since it was read. */
interface NewNotes {
  noteIds: ReadonlySet<string>;
  /** There are others, too. */
  hasMore: boolean;
}

const NOTHING: NewNotes = { noteIds: new Set(), hasMore: false };
const NewNotesContext = createContext<[NewNotes, forget: () => void]>([NOTHING, () => {}]);

/** New notes, and a function that forgets them: call it when the feed is read. */
export const useNewNotes = () => useContext(NewNotesContext);

/** Collects new notes for as long as the session: the feed in the cache is also shown after a visit to another page. */
export function NewNotesProvider({ children }: { children: ReactNode }) {
  const client = useClient();
  const [news, setNews] = useState(NOTHING);
  useChanges(FeedChangedDocument, {}, (data) => data.feedChanged, {
    onStart() {
      const first = { after: null };
      const isRead = client.readQuery(FeedDocument, first, { requestPolicy: "cache-only" })?.data;
      if (isRead) client.query(FeedDocument, first, { requestPolicy: "network-only" }).toPromise();
    },
    onChanges: (changes) =>
      setNews(({ noteIds, hasMore }) => ({ noteIds: new Set([...noteIds, ...changes.noteIds]), hasMore })),
    onGap: () => setNews(({ noteIds }) => ({ noteIds, hasMore: true })),
  });
  const value = useMemo((): [NewNotes, () => void] => [news, () => setNews(NOTHING)], [news]);
  return <NewNotesContext value={value}>{children}</NewNotesContext>;
}

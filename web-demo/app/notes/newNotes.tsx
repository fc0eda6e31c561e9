import { type ReactNode, createContext, useContext, useMemo, useState } from "react";
import { FeedChangedDocument } from "../../shared/api/generated";
import { useChanges } from "../../shared/lists/useChanges";

/** What is new in the feed since it was read. */
interface Changes {
  noteIds: ReadonlySet<string>;
  /** There are others, too. */
  hasMore: boolean;
}

interface NewNotes extends Changes {
  /** Whether the feed may be read. */
  isStarted: boolean;
  /** Forgets the new notes: call it when the feed is read again. */
  forget: () => void;
}

const NOTHING: Changes = { noteIds: new Set(), hasMore: false };
const NewNotesContext = createContext<NewNotes>({ ...NOTHING, isStarted: true, forget: () => {} });

export const useNewNotes = () => useContext(NewNotesContext);

/** Collects new notes for as long as the session: the feed in the cache is also shown after a visit to another page. */
export function NewNotesProvider({ children }: { children: ReactNode }) {
  const [news, setNews] = useState(NOTHING);
  const isStarted = useChanges(FeedChangedDocument, {}, (data) => data.feedChanged, {
    onChanges: ({ noteIds: added }) =>
      setNews(({ noteIds, hasMore }) => ({ noteIds: new Set([...noteIds, ...added]), hasMore })),
    onGap: () => setNews(({ noteIds }) => ({ noteIds, hasMore: true })),
  });
  const value = useMemo(() => ({ ...news, isStarted, forget: () => setNews(NOTHING) }), [news, isStarted]);
  return <NewNotesContext value={value}>{children}</NewNotesContext>;
}

import { type RefObject, useRef, useState } from "react";
import { FeedDocument, FollowingFeedDocument, type NotesFragment } from "../../shared/api/generated";
import { exactly } from "../../shared/ui/Count";
import { Empty } from "../../shared/ui/States";
import { PageHead } from "../layout/PageHead";
import { Tabs } from "../controls/Tabs";
import { usePages } from "../../shared/lists/usePages";
import { Offer } from "../lists/Offer";
import styles from "./FeedPage.module.css";
import { NoteComposer } from "./NoteComposer";
import { NoteList } from "./NoteList";
import { useNewNotes } from "./newNotes";

/** The newest notes of everybody, or of the users that the viewer follows. */
export function FeedPage() {
  const [following, setFollowing] = useState(false);
  const top = useRef<HTMLDivElement>(null);
  return (
    <>
      <div ref={top} tabIndex={-1} className={styles.top} />
      <PageHead title="Home">
        <Tabs
          label="Whose notes"
          options={[
            { value: false, text: "Everybody" },
            { value: true, text: "Following" },
          ]}
          value={following}
          onChange={setFollowing}
        />
      </PageHead>
      {following ? (
        <FollowingFeed />
      ) : (
        <>
          <NoteComposer />
          <Feed top={top} />
        </>
      )}
    </>
  );
}

/** The feed, and an offer to read it again when there are new notes. */
function Feed({ top }: { top: RefObject<HTMLElement | null> }) {
  const { forget } = useNewNotes();
  /** How often it was read again. */
  const [readings, setReadings] = useState(0);
  function readAgain() {
    forget();
    setReadings(readings + 1);
    // The button with the focus disappears.
    top.current?.focus({ preventScroll: true });
    top.current?.scrollIntoView();
  }
  return <ReadFeed key={readings} isAgain={readings > 0} onReadAgain={readAgain} />;
}

function ReadFeed({ isAgain, onReadAgain }: { isAgain: boolean; onReadAgain: () => void }) {
  const { noteIds, hasMore, isStarted } = useNewNotes();
  const policy = isAgain ? "cache-and-network" : "cache-first";
  const { nodes, endless } = usePages(FeedDocument, {}, (data) => data.feed, policy, !isStarted);
  const count = [...noteIds].filter((id) => !nodes.some((note) => note.id === id)).length;
  const number = hasMore ? `${exactly(count)}+` : exactly(count);
  const offer = count === 0 ? (hasMore ? "new notes" : "") : `${number} new ${number === "1" ? "note" : "notes"}`;
  return (
    <>
      <Offer text={endless.isLoading ? "" : offer} onShow={onReadAgain} />
      <Notes nodes={nodes} endless={endless} />
    </>
  );
}

function FollowingFeed() {
  return <Notes {...usePages(FollowingFeedDocument, {}, (data) => data.followingFeed)} />;
}

function Notes({ nodes, endless }: Pick<ReturnType<typeof usePages>, "endless"> & { nodes: NotesFragment["nodes"] }) {
  return (
    <NoteList notes={nodes} endless={endless}>
      <Empty title="Nothing here yet.">Follow somebody to see their notes here.</Empty>
    </NoteList>
  );
}

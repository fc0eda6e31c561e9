import { useState } from "react";
import { FeedDocument, FollowingFeedDocument, type NotesFragment } from "../../shared/api/generated";
import { Empty } from "../../shared/ui/States";
import { PageHead } from "../layout/PageHead";
import { Tabs } from "../controls/Tabs";
import { usePages } from "../../shared/lists/usePages";
import { NoteComposer } from "./NoteComposer";
import { NoteList } from "./NoteList";

/** The newest notes of everybody, or of the users that the viewer follows. */
export function FeedPage() {
  const [following, setFollowing] = useState(false);
  return (
    <>
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
          <Feed />
        </>
      )}
    </>
  );
}

function Feed() {
  return <Notes {...usePages(FeedDocument, {}, (data) => data.feed)} />;
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

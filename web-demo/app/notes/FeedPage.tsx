import { useState } from "react";
import { FeedDocument } from "../../shared/api/generated";
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
      {!following && <NoteComposer />}
      <Feed key={String(following)} following={following} />
    </>
  );
}

function Feed({ following }: { following: boolean }) {
  const { nodes, endless } = usePages(FeedDocument, { following }, (data) => data.feed);
  return (
    <NoteList notes={nodes} endless={endless}>
      <Empty title="Nothing here yet.">Follow somebody to see their notes here.</Empty>
    </NoteList>
  );
}

import { useState } from "react";
import { CollectedNotesDocument, type CollectedNotesQuery, LikedNotesDocument } from "../../shared/api/generated";
import { Empty } from "../../shared/ui/States";
import { ForViewer } from "../layout/ForViewer";
import { PageHead } from "../layout/PageHead";
import { Tabs } from "../controls/Tabs";
import { usePages } from "../../shared/lists/usePages";
import { NoteList } from "../notes/NoteList";

/** The viewer's liked and collected notes, visible only to the viewer. */
export default function LikesPage() {
  const [isCollects, setCollects] = useState(false);
  return (
    <>
      <PageHead title="My likes">
        <Tabs
          label="Which notes"
          options={[
            { value: false, text: "Liked" },
            { value: true, text: "Collected" },
          ]}
          value={isCollects}
          onChange={setCollects}
        />
      </PageHead>
      <ForViewer what="what you like">{() => (isCollects ? <Collected /> : <Liked />)}</ForViewer>
    </>
  );
}

/**
 * Both lists are read when they appear, and not again: a note stays in place after an unlike until the page is left,
 * so that it can be undone.
 */
function Liked() {
  const { nodes, endless } = usePages(LikedNotesDocument, {}, (data) => data.viewer?.likedNotes, "cache-and-network");
  return (
    <NoteList notes={nodes} endless={endless}>
      <Empty title="Nothing yet.">Notes that you like appear here.</Empty>
    </NoteList>
  );
}

function Collected() {
  const find = (data: CollectedNotesQuery) => data.viewer?.collectedNotes;
  const { nodes, endless } = usePages(CollectedNotesDocument, {}, find, "cache-and-network");
  return (
    <NoteList notes={nodes} endless={endless}>
      <Empty title="Nothing yet.">Notes that you collect appear here.</Empty>
    </NoteList>
  );
}

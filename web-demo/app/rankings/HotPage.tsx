import { useState } from "react";
import { HotNotesDocument, type HotOrder } from "../../shared/api/generated";
import { Empty } from "../../shared/ui/States";
import { PageHead } from "../layout/PageHead";
import { Tabs } from "../controls/Tabs";
import { usePages } from "../../shared/lists/usePages";
import { NoteList } from "../notes/NoteList";
import styles from "./HotPage.module.css";

/** The notes with the most likes and collects of a period. */
export default function HotPage() {
  const [window, setWindow] = useState<HotOrder>("DAY");
  return (
    <>
      <PageHead title="Hot">
        <Tabs
          label="Likes and collects of"
          options={[
            { value: "HOUR", text: "Hour" },
            { value: "DAY", text: "Day" },
            { value: "WEEK", text: "Week" },
            { value: "ALL", text: "All" },
          ]}
          value={window}
          onChange={setWindow}
        />
      </PageHead>
      <HotNotes key={window} window={window} />
    </>
  );
}

function HotNotes({ window }: { window: HotOrder }) {
  const { nodes, endless } = usePages(HotNotesDocument, { window }, (data) => data.hotNotes, "cache-and-network");
  return (
    <div className={styles.ranked}>
      <NoteList notes={nodes} endless={endless}>
        <Empty title="Nothing yet.">Nothing was liked or collected in this period.</Empty>
      </NoteList>
    </div>
  );
}

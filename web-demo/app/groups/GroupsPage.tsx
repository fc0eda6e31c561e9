import { Plus } from "lucide-react";
import { useState } from "react";
import { Button } from "../../shared/ui/Button";
import { ForViewer } from "../layout/ForViewer";
import { PageHead } from "../layout/PageHead";
import { useApi } from "../../shared/api/client";
import styles from "./GroupsPage.module.css";
import { LargestGroups } from "./LargestGroups";
import { MyGroups } from "./MyGroups";
import { NewGroup } from "./NewGroup";

/** The viewer's groups, and all others by their members. */
export default function GroupsPage() {
  const { session } = useApi();
  const [isCreating, setCreating] = useState(false);
  return (
    <>
      <PageHead title="Groups">
        {session && (
          <Button look="primary" onClick={() => setCreating(true)}>
            <Plus size={17} aria-hidden="true" /> New group
          </Button>
        )}
      </PageHead>
      {isCreating && <NewGroup onClose={() => setCreating(false)} />}
      <section className={styles.mine} aria-label="Your groups">
        <h2 className={styles.title}>Your groups</h2>
        <ForViewer what="your groups">{() => <MyGroups />}</ForViewer>
      </section>
      <section aria-label="Largest groups">
        <h2 className={styles.title}>Largest groups</h2>
        <LargestGroups />
      </section>
    </>
  );
}

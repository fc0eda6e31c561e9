import { Link } from "wouter";
import { NoteLikersDocument } from "../../shared/api/generated";
import { Avatar } from "../../shared/ui/Avatar";
import { Dialog } from "../../shared/ui/Dialog";
import { Endless } from "../../shared/lists/Endless";
import { usePages } from "../../shared/lists/usePages";
import styles from "./LikersDialog.module.css";

/** All likers of a note, the newest first. */
export function LikersDialog({ noteId, onClose }: { noteId: string; onClose: () => void }) {
  const { nodes, endless } = usePages(
    NoteLikersDocument,
    { noteId },
    (data) => data.note?.likers,
    "cache-and-network",
  );
  return (
    <Dialog title="Liked by" onClose={onClose}>
      <Endless {...endless}>
        <ul className={styles.people}>
          {nodes.map(({ id, name }) => (
            <li key={id}>
              <Link href={`/user/${id}`}>
                <Avatar name={name} size={36} />
                {name}
              </Link>
            </li>
          ))}
        </ul>
      </Endless>
    </Dialog>
  );
}

import { Bookmark, Eye, Heart, MessageCircle } from "lucide-react";
import { type MouseEvent } from "react";
import { Link } from "wouter";
import {
  CollectNoteDocument,
  LikeNoteDocument,
  type NoteCardFragment,
  UncollectNoteDocument,
  UnlikeNoteDocument,
} from "../../shared/api/generated";
import { Count, exactly } from "../../shared/ui/Count";
import { CountButton } from "../controls/CountButton";
import { useAction } from "../../shared/api/useAction";
import buttonStyles from "../controls/CountButton.module.css";
import styles from "./NoteActions.module.css";

interface Props {
  note: NoteCardFragment;
  /** Replaces the link to the comments where they are on the same page. */
  onComments?: (event: MouseEvent) => void;
}

/** Counts of a note, and buttons for like, collect and comment. */
export function NoteActions({ note, onComments }: Props) {
  const like = useAction(LikeNoteDocument);
  const unlike = useAction(UnlikeNoteDocument);
  const collect = useAction(CollectNoteDocument);
  const uncollect = useAction(UncollectNoteDocument);
  const noteId = note.id;
  return (
    <div className={styles.actions}>
      <CountButton
        icon={Heart}
        colour="like"
        label="Like"
        unit="likes"
        count={note.likeCount}
        isOn={note.viewerHasLiked}
        onToggle={(on) => (on ? like : unlike)({ noteId })}
      />
      <Link
        href={`/note/${noteId}#comments`}
        className={`${buttonStyles.button} ${buttonStyles.talk}`}
        onClick={onComments}
        aria-label={`Comments: ${exactly(note.commentCount)}`}
      >
        <MessageCircle size={20} aria-hidden="true" />
        <Count value={note.commentCount} />
      </Link>
      <CountButton
        icon={Bookmark}
        colour="collect"
        label="Collect"
        unit="collects"
        count={note.collectCount}
        isOn={note.viewerHasCollected}
        onToggle={(on) => (on ? collect : uncollect)({ noteId })}
      />
      <span className={styles.views}>
        <Eye size={18} aria-hidden="true" />
        <Count value={note.viewCount} />
        <span className="only-heard">views</span>
      </span>
    </div>
  );
}

import { ArrowUp } from "lucide-react";
import { type CommentItemFragment, type CommentOrder, NoteCommentsDocument } from "../../shared/api/generated";
import { Empty } from "../../shared/ui/States";
import { Endless } from "../../shared/lists/Endless";
import { chunks } from "../lists/chunks";
import { usePages } from "../../shared/lists/usePages";
import { Comment } from "./Comment";
import { LiveComments } from "./LiveComments";
import styles from "./Thread.module.css";
import { useDecisions } from "./useDecisions";
import { useNewComments } from "./useNewComments";
import { useRemoved } from "./useRemoved";
import { isPending, isUnpublished, withOwn } from "./withOwn";

/** Comments per subscription; it runs while one of them is near the screen. */
const GROUP = 10;

interface Props {
  noteId: string;
  orderBy: CommentOrder;
  /** Reads the thread again from its first page. */
  onReadAgain: () => void;
}

/** The comments on a note with their replies; the viewer's unpublished comments come first. */
export function Thread({ noteId, orderBy, onReadAgain }: Props) {
  const { data, nodes, endless } = usePages(
    NoteCommentsDocument,
    { noteId, orderBy },
    (data) => data.note?.comments,
    "cache-and-network",
  );
  /** The viewer's own comments and replies on this page. */
  const all = data?.note?.viewerUnpublishedComments ?? [];
  const own = all.filter(({ parent }) => !parent);
  const comments = withOwn(nodes, own);
  const unpublished = own.filter(isUnpublished);
  const pending = all.filter(isPending);
  useDecisions(pending, data?.note?.commentCount);
  useRemoved(comments, data?.note?.commentCount);
  const newComments = useNewComments(comments, data?.note?.commentCount, pending.length);

  const isEmpty = !!data && comments.length === 0 && unpublished.length === 0 && !endless.isLoading && !endless.error;
  const show = (comment: CommentItemFragment) => (
    <Comment
      key={comment.id}
      comment={comment}
      noteId={noteId}
      orderBy={orderBy}
      ownReplies={all.filter(({ parent }) => parent?.id === comment.id)}
    />
  );
  return (
    <>
      <div role="status" className={styles.offer}>
        {newComments > 0 && (
          <button type="button" onClick={onReadAgain}>
            <ArrowUp size={16} aria-hidden="true" />
            Show {newComments} new {newComments === 1 ? "comment" : "comments"}
          </button>
        )}
      </div>
      <Endless {...endless}>
        {isEmpty && <Empty title="No comments yet.">Be the first.</Empty>}
        {unpublished.map(show)}
        {chunks(comments, GROUP).map((group) => (
          <LiveComments key={group[0]!.id} commentIds={group.map(({ id }) => id)} onGone={onReadAgain}>
            {group.map(show)}
          </LiveComments>
        ))}
      </Endless>
    </>
  );
}

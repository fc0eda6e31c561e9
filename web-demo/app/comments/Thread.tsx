import { type CommentItemFragment, type CommentOrder, NoteCommentsDocument } from "../../shared/api/generated";
import { exactly } from "../../shared/ui/Count";
import { Empty } from "../../shared/ui/States";
import { Endless } from "../../shared/lists/Endless";
import { chunks, chunksFromEnd } from "../lists/chunks";
import { usePages } from "../../shared/lists/usePages";
import { Comment } from "./Comment";
import { LiveComments } from "./LiveComments";
import { useDecisions } from "../review/useDecisions";
import { useLiveThread } from "./useLiveThread";
import { isPending, isUnpublished, withEvents, withOwn } from "./withOwn";

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
  const { appeared, isStarted } = useLiveThread(noteId, onReadAgain);
  const { data, nodes, endless } = usePages(
    NoteCommentsDocument,
    { noteId, orderBy },
    (data) => data.note?.comments,
    "cache-and-network",
    !isStarted,
  );
  /** The viewer's own comments and replies on this page. */
  const all = withEvents(data?.note?.viewerUnpublishedComments ?? [], appeared);
  const own = all.filter(({ parent }) => !parent);
  const comments = withOwn(withEvents(nodes, appeared), own);
  const unpublished = own.filter(isUnpublished);
  useDecisions("comments", all.filter(isPending).map(({ id }) => id));
  // Those that came since the thread was read are first. They have groups of their own, so that one more moves no
  // comment into another group, which would close its open forms.
  const isFresh = ({ id }: CommentItemFragment) => appeared.has(id) || own.some((one) => one.id === id);
  const firstOther = comments.findIndex((comment) => !isFresh(comment));
  const fresh = firstOther < 0 ? comments : comments.slice(0, firstOther);
  const others = comments.slice(fresh.length);

  const isEmpty = !!data && comments.length === 0 && unpublished.length === 0 && !endless.isLoading && !endless.error;
  const show = (comment: CommentItemFragment) => (
    <Comment
      key={comment.id}
      comment={comment}
      noteId={noteId}
      orderBy={orderBy}
      appeared={appeared}
      ownReplies={all.filter(({ parent }) => parent?.id === comment.id)}
    />
  );
  return (
    <Endless {...endless}>
      <p role="status" className="only-heard">
        {appeared.size > 0 && `${exactly(appeared.size)} new ${appeared.size === 1 ? "comment" : "comments"}`}
      </p>
      {isEmpty && <Empty title="No comments yet.">Be the first.</Empty>}
      {unpublished.map(show)}
      {[...chunksFromEnd(fresh, GROUP), ...chunks(others, GROUP)].map((group) => (
        <LiveComments key={group.at(fresh.includes(group[0]!) ? -1 : 0)!.id} comments={group} onGone={onReadAgain}>
          {group.map(show)}
        </LiveComments>
      ))}
    </Endless>
  );
}

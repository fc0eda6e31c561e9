import { type CommentItemFragment } from "../../shared/api/generated";

/**
 * Comments whose approval was pushed are approved, whatever their state says: the answer to the author may come after the
 * event, and still says that the comment waits. It would move to another place, and its open forms would close.
 */
export function withEvents(
  comments: CommentItemFragment[],
  appeared: ReadonlySet<string>,
): CommentItemFragment[] {
  return comments.map((comment) =>
    isPending(comment) && appeared.has(comment.id) ? { ...comment, state: "APPROVED" } : comment,
  );
}

/**
 * A thread with the viewer's own comments that were approved since it was read. They are listed first until the thread
 * is read again.
 */
export function withOwn(thread: CommentItemFragment[], unpublished: CommentItemFragment[]): CommentItemFragment[] {
  const threadIds = new Set(thread.map(({ id }) => id));
  const approved = unpublished.filter((comment) => !isUnpublished(comment) && !threadIds.has(comment.id));
  return [...approved, ...thread.filter((comment) => !isUnpublished(comment))];
}

export const isUnpublished = ({ state }: CommentItemFragment): boolean => state !== "APPROVED";
export const isPending = ({ state }: CommentItemFragment): boolean => state === "PENDING";

import { type CommentItemFragment } from "../../shared/api/generated";

/**
 * A thread with the viewer's own comments that were approved since it was read. They are listed first until the thread
 * is read again. A comment may be in the thread before the answer to its author, who then sees it as pending once more.
 */
export function withOwn(thread: CommentItemFragment[], unpublished: CommentItemFragment[]): CommentItemFragment[] {
  const threadIds = new Set(thread.map(({ id }) => id));
  const approved = unpublished.filter((comment) => !isUnpublished(comment) && !threadIds.has(comment.id));
  return [...approved, ...thread.filter((comment) => !isUnpublished(comment))];
}

export const isUnpublished = ({ state }: CommentItemFragment): boolean => state !== "APPROVED";
export const isPending = ({ state }: CommentItemFragment): boolean => state === "PENDING";

import { type CommentItemFragment } from "../../shared/api/generated";

/**
 * A thread with the viewer's own comments that were approved since it was read. They are listed first until the thread
 * is read again.
 */
export function withOwn(thread: CommentItemFragment[], unpublished: CommentItemFragment[]): CommentItemFragment[] {
  const threadIds = new Set(thread.map(({ id }) => id));
  return [...unpublished.filter(({ id, state }) => state === "APPROVED" && !threadIds.has(id)), ...thread];
}

export const isUnpublished = ({ state }: CommentItemFragment): boolean => state !== "APPROVED";
export const isPending = ({ state }: CommentItemFragment): boolean => state === "PENDING";

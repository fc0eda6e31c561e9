import { type ReactNode, useEffect } from "react";
import { useSubscription } from "urql";
import { CommentCountsDocument } from "../../shared/api/generated";
import { LIST_RATE, WhileNear } from "../../shared/lists/WhileNear";

interface Props {
  /** At most 100. */
  commentIds: string[];
  /** One of them does not exist any more, so the subscription ended. Called once for the same ids. */
  onGone?: () => void;
  children: ReactNode;
}

/** Keeps the counts of comments live while they are near the screen. */
export function LiveComments({ commentIds, onGone, children }: Props) {
  const listener = commentIds.length > 0 && <Listener commentIds={commentIds} onGone={onGone} />;
  return <WhileNear listener={listener}>{children}</WhileNear>;
}

/** Ids reported as gone: a thread that shows one again must not be read in a loop. */
const told = new Set<string>();

function Listener({ commentIds, onGone }: Omit<Props, "children">) {
  const [{ error }] = useSubscription({ query: CommentCountsDocument, variables: { commentIds, maxRate: LIST_RATE } });
  const isGone = error?.graphQLErrors[0]?.extensions.code === "NOT_FOUND";
  const ids = commentIds.join();
  useEffect(() => {
    if (!isGone || told.has(ids)) return;
    told.add(ids);
    onGone?.();
  }, [isGone, ids, onGone]);
  return null;
}

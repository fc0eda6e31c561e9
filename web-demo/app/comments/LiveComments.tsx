import { type ReactNode, useEffect } from "react";
import { useSubscription } from "urql";
import { CommentCountsDocument } from "../../shared/api/generated";
import { LIST_RATE, WhileNear } from "../../shared/lists/WhileNear";

interface Props {
  /** At most 100. */
  commentIds: string[];
  /** Called once per list of ids when the subscription ended because one of the comments no longer exists. */
  onGone?: () => void;
  children: ReactNode;
}

/** Keeps the counts of comments live while they are near the screen. */
export function LiveComments({ commentIds, onGone, children }: Props) {
  const listener = commentIds.length > 0 && <Listener commentIds={commentIds} onGone={onGone} />;
  return <WhileNear listener={listener}>{children}</WhileNear>;
}

/** Lists of ids that were reported to `onGone`, so that a thread is not read in a loop. */
const reported = new Set<string>();

function Listener({ commentIds, onGone }: Omit<Props, "children">) {
  const [{ error }] = useSubscription({ query: CommentCountsDocument, variables: { commentIds, maxRate: LIST_RATE } });
  const isGone = error?.graphQLErrors[0]?.extensions.code === "NOT_FOUND";
  const ids = commentIds.join();
  useEffect(() => {
    if (!isGone || reported.has(ids)) return;
    reported.add(ids);
    onGone?.();
  }, [isGone, ids, onGone]);
  return null;
}

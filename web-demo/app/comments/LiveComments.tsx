import { type ReactNode, useEffect } from "react";
import { useSubscription } from "urql";
import { CommentCountsDocument } from "../../shared/api/generated";
import { LIST_RATE, WhileNear } from "../../shared/lists/WhileNear";

interface Props {
  /** At most 100. */
  commentIds: string[];
  /** One of them is not there any more, so nothing is watched. Called once for the same ids. */
  onGone?: () => void;
  children: ReactNode;
}

/** Keeps the counts of comments live while their place is near the screen. */
export function LiveComments({ commentIds, onGone, children }: Props) {
  const listener = commentIds.length > 0 && <Listener commentIds={commentIds} onGone={onGone} />;
  return <WhileNear listener={listener}>{children}</WhileNear>;
}

/** What was told to be gone: a thread that has it again shall not be read for ever. */
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

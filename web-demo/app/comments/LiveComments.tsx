import { type ReactNode, useEffect, useRef } from "react";
import { useSubscription } from "urql";
import { CommentCountsDocument } from "../../shared/api/generated";
import { useInView } from "../../shared/lists/useInView";

/** Events per second and comment: people do not read faster. */
const RATE = 5;

interface Props {
  /** At most 100. */
  commentIds: string[];
  /** One of them is not there any more, so nothing is watched. Called once for the same ids. */
  onGone?: () => void;
  children: ReactNode;
}

/** Keeps the counts of comments live while their place is near the screen. */
export function LiveComments({ commentIds, onGone, children }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const isNear = useInView(place, "200px");
  return (
    <div ref={place}>
      {isNear && commentIds.length > 0 && <Listener commentIds={commentIds} onGone={onGone} />}
      {children}
    </div>
  );
}

/** What was told to be gone: a thread that has it again shall not be read for ever. */
const told = new Set<string>();

/** Alone in its component, so that an event draws only what shows its numbers. */
function Listener({ commentIds, onGone }: Omit<Props, "children">) {
  const [{ error }] = useSubscription({ query: CommentCountsDocument, variables: { commentIds, maxRate: RATE } });
  const isGone = error?.graphQLErrors[0]?.extensions.code === "NOT_FOUND";
  const ids = commentIds.join();
  useEffect(() => {
    if (!isGone || told.has(ids)) return;
    told.add(ids);
    onGone?.();
  }, [isGone, ids, onGone]);
  return null;
}

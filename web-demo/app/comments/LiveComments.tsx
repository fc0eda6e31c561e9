import { NearScreen, useIsNear } from "plaudit-client/react";
import { type ReactNode, useEffect, useEffectEvent, useRef } from "react";
import { type OperationResult, useClient } from "urql";
import {
  CommentCountsDocument,
  type CommentCountsSubscription,
  type CommentItemFragment,
  CommentsAgainDocument,
} from "../../shared/api/generated";
import { LIST_RATE } from "../../shared/api/client";

interface Props {
  /** At most 100. */
  comments: CommentItemFragment[];
  /** Called once per list of comments when the subscription ended because one of them no longer exists. */
  onGone?: () => void;
  children: ReactNode;
}

/** Keeps the counts and the texts of comments live while they are near the screen. */
export function LiveComments({ comments, onGone, children }: Props) {
  return (
    <NearScreen>
      {comments.length > 0 && <Listener comments={comments} onGone={onGone} />}
      {children}
    </NearScreen>
  );
}

/** Lists of ids that were reported to `onGone`, so that a thread is not read in a loop. */
const reported = new Set<string>();

/** The cache applies the counts. Events say when a comment was edited; its text is read only then. */
function Listener({ comments, onGone }: Omit<Props, "children">) {
  const client = useClient();
  /** When the text of each comment was last edited, as far as it was read. */
  const editedAt = useRef(new Map<string, string | null>());
  const ids = comments.map(({ id }) => id).join();

  const receive = useEffectEvent(({ data, error }: OperationResult<CommentCountsSubscription>) => {
    const isGone = error?.graphQLErrors[0]?.extensions.code === "NOT_FOUND";
    if (isGone && !reported.has(ids)) {
      reported.add(ids);
      onGone?.();
    }
    const event = data?.commentCountsChanged;
    if (!event || event.editedAt === editedAt.current.get(event.id)) return;
    editedAt.current.set(event.id, event.editedAt);
    client.query(CommentsAgainDocument, { ids: [event.id] }, { requestPolicy: "network-only" }).toPromise();
  });
  const subscribe = useEffectEvent(() => {
    for (const comment of comments) {
      if (!editedAt.current.has(comment.id)) editedAt.current.set(comment.id, comment.editedAt);
    }
    const variables = { commentIds: ids.split(","), maxRate: LIST_RATE };
    return client.subscription(CommentCountsDocument, variables).subscribe((result) => receive(result));
  });
  const isNear = useIsNear();
  useEffect(() => (isNear ? subscribe().unsubscribe : undefined), [client, ids, isNear]);
  return null;
}

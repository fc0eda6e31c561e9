import { useEffect, useRef, useState } from "react";
import { useSettled } from "../controls/useSettled";

interface Loaded {
  id: string;
  isRemoved: boolean;
  replyCount: number;
}

/** Counts of the note and of its comments arrive one after the other: a difference shows only if it lasts this long. */
const SETTLED_MS = 700;

/**
 * The number of comments that others wrote since the thread was read. It observes the number of comments that are
 * neither loaded nor replies to loaded ones: a new comment raises it, a loaded page lowers it.
 */
export function useNewComments(loaded: Loaded[], commentCount: number | undefined, ownPending: number): number {
  const loadedCount = loaded.reduce((sum, { isRemoved, replyCount }) => sum + (isRemoved ? 0 : 1) + replyCount, 0);
  const rest = commentCount === undefined ? undefined : commentCount - loadedCount;
  const lastId = loaded.at(-1)?.id;
  const before = useRef<{ rest: number; loadedCount: number; lastId?: string }>(undefined);
  const [newComments, setNewComments] = useState(0);

  useEffect(() => {
    if (rest === undefined) return;
    const { current } = before;
    before.current = { rest, loadedCount, lastId };
    // Another page was loaded: its comments are not new.
    const isOtherEnd = current?.lastId !== undefined && current.lastId !== lastId;
    if (!current || isOtherEnd) return;
    const change = rest - current.rest;
    // A removed comment lowers the count before or after it leaves the page: that makes no other comment new.
    const hasLeft = loadedCount < current.loadedCount && change > 0;
    setNewComments((n) => (hasLeft ? Math.max(n, Math.min(n + change, 0)) : n + change));
  }, [rest, loadedCount, lastId]);

  // Comments were removed: start again at 0, so that the next comment counts as new.
  const lasting = useSettled(newComments, SETTLED_MS);
  useEffect(() => {
    if (lasting < 0) setNewComments((n) => n - lasting);
  }, [lasting]);
  const others = newComments - ownPending;
  return Math.max(0, Math.min(others, useSettled(others, SETTLED_MS)));
}

import { useEffect, useRef } from "react";
import { useSettled } from "../layout/useSettled";

interface Loaded {
  id: string;
  isRemoved: boolean;
  replyCount: number;
}

/** Counts of the note and of its comments come one after the other: only what lasts is told. */
const SETTLED_MS = 700;

/**
 * How many comments others wrote since the thread was read. The rest of a note's comments are those that are neither
 * loaded nor replies to loaded ones: it grows by each new comment, and is smaller after each page that is loaded.
 */
export function useNewcomers(loaded: Loaded[], commentCount: number | undefined, ownPending: number): number {
  const known = loaded.reduce((sum, { isRemoved, replyCount }) => sum + (isRemoved ? 0 : 1) + replyCount, 0);
  const rest = commentCount === undefined ? undefined : commentCount - known;
  const lastId = loaded.at(-1)?.id;
  /** The rest when there was no newcomer. */
  const base = useRef<{ rest: number; at: number; lastId?: string }>(undefined);

  useEffect(() => {
    if (rest === undefined) return;
    const { current } = base;
    if (!current) base.current = { rest, at: rest, lastId };
    else {
      const isNextPage = current.lastId !== undefined && current.lastId !== lastId;
      base.current = { rest: current.rest + (isNextPage ? rest - current.at : 0), at: rest, lastId };
    }
  }, [rest, lastId]);

  const settled = useSettled(rest, SETTLED_MS);
  useEffect(() => {
    // Comments were removed: the next one is new again.
    if (settled !== undefined && base.current) base.current.rest = Math.min(base.current.rest, settled);
  }, [settled]);
  return Math.max(0, (settled ?? 0) - (base.current?.rest ?? settled ?? 0) - ownPending);
}

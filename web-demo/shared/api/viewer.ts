import { type Cache } from "@urql/exchange-graphcache";

/** Cache key of the viewer; null without a session. */
export const viewerKey = (cache: Cache) => (cache.resolve("Query", "viewer") ?? null) as string | null;

/** Cache key of the viewer's user; null before the first action. */
export const ownUserKey = (cache: Cache) => (cache.resolve(viewerKey(cache), "user") ?? null) as string | null;

/** Invalidates a viewer without a user: the first action creates it. */
export function invalidateNewViewer(cache: Cache) {
  if (!ownUserKey(cache)) cache.invalidate("Query", "viewer");
}

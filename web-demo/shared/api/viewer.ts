import { type Cache } from "@urql/exchange-graphcache";

/** Cache key of the viewer; null if the server has no user for the session. */
export const viewerKey = (cache: Cache) => (cache.resolve("Query", "viewer") ?? null) as string | null;

/** Invalidates a cached null viewer: a first action creates the viewer's user. */
export function invalidateNullViewer(cache: Cache) {
  if (!viewerKey(cache)) cache.invalidate("Query", "viewer");
}

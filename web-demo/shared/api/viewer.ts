import { type Cache } from "@urql/exchange-graphcache";

/** Key of the viewer; null when the server knew none. */
export const viewerKey = (cache: Cache) => (cache.resolve("Query", "viewer") ?? null) as string | null;

/** A first action creates the viewer's user: a cached null viewer is invalidated. */
export function knowViewer(cache: Cache) {
  if (!viewerKey(cache)) cache.invalidate("Query", "viewer");
}

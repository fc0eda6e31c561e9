import { type Cache } from "@urql/exchange-graphcache";

/** Key of the viewer; null when the server knew none. */
export const viewerKey = (cache: Cache) => (cache.resolve("Query", "viewer") ?? null) as string | null;

/** Somebody's first action makes them a user: until then the server knew no viewer, and now it is asked again. */
export function knowViewer(cache: Cache) {
  if (!viewerKey(cache)) cache.invalidate("Query", "viewer");
}

import { type Cache, type UpdateResolver } from "@urql/exchange-graphcache";

/** Key of the viewer; null when the server knew none. */
export const viewerKey = (cache: Cache) => (cache.resolve("Query", "viewer") ?? null) as string | null;

/** Somebody's first action makes them a user: until then the server knew no viewer, and now it is asked again. */
export function knowViewer(cache: Cache) {
  if (!viewerKey(cache)) cache.invalidate("Query", "viewer");
}

/**
 * Who has an inbox is somebody, so an answer that the viewer is nobody is of a moment before: it is asked for once
 * more, whichever of the two comes first.
 */
export function meetViewer(): Record<"viewer" | "inbox", UpdateResolver> {
  let hasInbox = false;
  const meet = (store: Cache) => {
    if (!hasInbox || store.resolve("Query", "viewer") !== null) return;
    hasInbox = false;
    store.invalidate("Query", "viewer");
  };
  return {
    viewer: (_data, _args, store) => meet(store),
    inbox(_data, _args, store) {
      hasInbox = true;
      meet(store);
    },
  };
}

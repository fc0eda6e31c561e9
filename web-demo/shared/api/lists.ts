import { type Cache, type Entity, type FieldInfo } from "@urql/exchange-graphcache";

type Arguments = NonNullable<FieldInfo["arguments"]>;

/** Pages of a list that are in the cache: a list is a field of `parent`, a page is one with its arguments. */
function pages(cache: Cache, parent: Entity, list: string, which: (args: Arguments) => boolean) {
  return cache
    .inspectFields(parent)
    .filter(({ fieldName, arguments: args }) => fieldName === list && which(args ?? {}))
    .map(({ fieldKey }) => cache.resolve(parent, fieldKey))
    .filter((connection) => typeof connection === "string");
}

const nodesOf = (cache: Cache, connection: string) => (cache.resolve(connection, "nodes") ?? []) as string[];

/** Puts an object at the head of the lists of that name whose arguments fit. */
export function prepend(
  cache: Cache,
  parent: Entity,
  list: string,
  key: string,
  fits: (args: Arguments) => boolean = () => true,
) {
  for (const connection of pages(cache, parent, list, (args) => !args.after && fits(args))) {
    const nodes = nodesOf(cache, connection);
    if (!nodes.includes(key)) cache.link(connection, "nodes", [key, ...nodes]);
  }
}

/** Takes an object out of the lists of that name. */
export function drop(cache: Cache, parent: Entity, list: string, key: string) {
  for (const connection of pages(cache, parent, list, () => true)) {
    const nodes = nodesOf(cache, connection);
    if (nodes.includes(key)) cache.link(connection, "nodes", nodes.filter((node) => node !== key));
  }
}

/**
 * Forgets the later pages of a list: its first one was read again, so they no longer begin where it ends.
 * `first` are the arguments of the first page.
 */
export function forgetLaterPages(cache: Cache, parent: Entity, list: string, first: Arguments) {
  if (first.after) return;
  for (const { fieldName, arguments: args } of cache.inspectFields(parent)) {
    if (fieldName === list && args?.after && args.sort === first.sort) cache.invalidate(parent, list, args);
  }
}

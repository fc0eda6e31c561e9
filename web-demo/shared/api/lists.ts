import { type Cache, type Entity, type FieldInfo, type UpdateResolver } from "@urql/exchange-graphcache";
import { stringifyVariables } from "urql";

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
 * A first page that was read again resets the list: pages that followed the old one would leave a gap or repeat
 * entries.
 */
export const beginAnew: UpdateResolver = (_data, args, cache, { parentKey, fieldName }) => {
  if (args.after) return;
  for (const page of cache.inspectFields(parentKey)) {
    const isLater = page.fieldName === fieldName && page.arguments?.after;
    if (isLater && isSameList(page.arguments!, args)) cache.invalidate(parentKey, fieldName, page.arguments);
  }
};

/** Whether two pages have all arguments in common but the cursor. */
const isSameList = ({ after: _, ...one }: Arguments, { after: __, ...other }: Arguments) =>
  stringifyVariables(one) === stringifyVariables(other);

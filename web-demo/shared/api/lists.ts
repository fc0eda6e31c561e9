import { type Cache, type Entity, type FieldInfo, type UpdateResolver } from "@urql/exchange-graphcache";
import { stringifyVariables } from "urql";

type Arguments = NonNullable<FieldInfo["arguments"]>;

/** The cached pages of a list. A list is a field of `parent`; each combination of arguments is a page. */
function pages(cache: Cache, parent: Entity, list: string) {
  return cache
    .inspectFields(parent)
    .filter(({ fieldName }) => fieldName === list)
    .map(({ fieldKey, arguments: args }) => ({ args: args ?? {}, connection: cache.resolve(parent, fieldKey) }))
    .filter((page): page is { args: Arguments; connection: string } => typeof page.connection === "string");
}

const nodesOf = (cache: Cache, connection: string) => (cache.resolve(connection, "nodes") ?? []) as string[];

/** Adds an object to the head of the lists of that name that do not have it. */
export function prepend(cache: Cache, parent: Entity, list: string, key: string) {
  const all = pages(cache, parent, list);
  const has = ({ connection }: { connection: string }) => nodesOf(cache, connection).includes(key);
  for (const { args, connection } of all.filter(({ args }) => !args.after)) {
    const isListed = all.some((page) => isSameList(page.args, args) && has(page));
    if (!isListed) cache.link(connection, "nodes", [key, ...nodesOf(cache, connection)]);
  }
}

/** Removes an object from the lists of that name. */
export function drop(cache: Cache, parent: Entity, list: string, key: string) {
  for (const { connection } of pages(cache, parent, list)) {
    const nodes = nodesOf(cache, connection);
    if (nodes.includes(key)) cache.link(connection, "nodes", nodes.filter((node) => node !== key));
  }
}

/**
 * A first page that was read again resets the list: pages that followed the old one would leave a gap or repeat
 * entries.
 */
export const resetList: UpdateResolver = (_data, args, cache, { parentKey, fieldName }) => {
  if (args.after) return;
  for (const page of cache.inspectFields(parentKey)) {
    const isLater = page.fieldName === fieldName && page.arguments?.after;
    if (isLater && isSameList(page.arguments!, args)) cache.invalidate(parentKey, fieldName, page.arguments);
  }
};

/** Whether two pages have all arguments in common but the cursor. */
const isSameList = ({ after: _, ...one }: Arguments, { after: __, ...other }: Arguments) =>
  stringifyVariables(one) === stringifyVariables(other);

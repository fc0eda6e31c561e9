import { type Exchange, mapExchange } from "urql";

type CountedEntity = Record<string, unknown> & { __typename: string; id: string; countsVersion: number };

/**
 * Keeps counts from going back. A query and a subscription use different connections, so the older answer may arrive
 * last. Every object with counts has `countsVersion`, which only rises: an object with a lower version gets the
 * counts of the highest version received (schema/PROTOCOL.md, "Versions").
 */
export function newestExchange(): Exchange {
  const newest = new Map<string, CountedEntity>();

  function keepNewest(object: CountedEntity) {
    const key = `${object.__typename}:${object.id}`;
    const latest = newest.get(key);
    if (!latest || object.countsVersion >= latest.countsVersion) {
      newest.set(key, object);
      return;
    }
    for (const [field, value] of Object.entries(latest)) {
      if (isCount(field) && field in object) object[field as keyof CountedEntity] = value as never;
    }
  }

  function visit(value: unknown) {
    if (Array.isArray(value)) return value.forEach(visit);
    if (typeof value !== "object" || value === null) return;
    if (isCounted(value)) keepNewest(value);
    Object.values(value).forEach(visit);
  }

  return mapExchange({ onResult: ({ data }) => visit(data) });
}

const isCount = (field: string) => field.endsWith("Count") || field === "countsVersion" || field === "ratingAverage";

function isCounted(value: object): value is CountedEntity {
  return "countsVersion" in value && "id" in value && "__typename" in value;
}

import { type Exchange, mapExchange } from "urql";

type Counted = Record<string, unknown> & { __typename: string; id: string; countsVersion: number };

/**
 * Keeps counts from going back. A query and a subscription use different connections, so the older answer may arrive
 * last. Every object with counts has `countsVersion`, which only rises: an object with a lower version gets the
 * counts of the highest version received (schema/PROTOCOL.md, "Versions").
 */
export function newestExchange(): Exchange {
  const seen = new Map<string, Counted>();

  function keep(object: Counted) {
    const key = `${object.__typename}:${object.id}`;
    const known = seen.get(key);
    if (!known || object.countsVersion >= known.countsVersion) {
      seen.set(key, object);
      return;
    }
    for (const [field, value] of Object.entries(known)) {
      if (isCount(field) && field in object) object[field as keyof Counted] = value as never;
    }
  }

  function visit(value: unknown) {
    if (Array.isArray(value)) return value.forEach(visit);
    if (typeof value !== "object" || value === null) return;
    if (isCounted(value)) keep(value);
    Object.values(value).forEach(visit);
  }

  return mapExchange({ onResult: ({ data }) => visit(data) });
}

const isCount = (field: string) => field.endsWith("Count") || field === "countsVersion" || field === "ratingAverage";

function isCounted(value: object): value is Counted {
  return "countsVersion" in value && "id" in value && "__typename" in value;
}

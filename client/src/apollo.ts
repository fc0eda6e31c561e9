/** For Apollo Client: counts that never go back, a line for subscriptions, and optimistic answers. */

import { type ApolloCache, ApolloLink, gql } from "@apollo/client";
import { print } from "graphql";
import { Observable, map } from "rxjs";
import { keepNewest, predicted, switches } from "./caches.js";
import type { Plaudit } from "./plaudit.js";
import { Newest } from "./versions.js";

/**
 * Gives each result the counts of the highest version that came, by whichever way. It is the first link. With
 * `plaudit`, both know the same versions.
 */
export function newestLink({ newest }: { newest: Newest } = { newest: new Newest() }): ApolloLink {
  return new ApolloLink((operation, forward) =>
    forward(operation).pipe(
      map((result) => {
        if (!("data" in result)) return result;
        const fresh = { ...result, data: copied(result.data) } as typeof result;
        keepNewest(newest, fresh.data, fresh.extensions?.stale === true);
        return fresh;
      }),
    ),
  );
}

/** JSON is copied because Apollo Client freezes results, and by hand because React Native has no `structuredClone`. */
function copied(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copied);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, copied(member)]));
}

/** The last link for subscriptions: they go over the line of `plaudit`. */
export function lineLink(plaudit: Plaudit): ApolloLink {
  return new ApolloLink(
    ({ query, variables }) =>
      new Observable((observer) =>
        plaudit.subscribe(
          { query: print(query), variables },
          {
            next: (result) => observer.next(result as never),
            error: (errors) => observer.error(errors),
            complete: () => observer.complete(),
          },
        ),
      ),
  );
}

/**
 * For `optimisticResponse` of a like, collect, follow or membership, such as
 * `optimisticFor("likeNote", "note_1", client.cache)`. It is undone by an error, and replaced by the answer.
 */
export function optimisticFor(mutation: string, id: string, cache: ApolloCache): Record<string, unknown> {
  const it = switches.find(({ field }) => field === mutation);
  if (!it) throw new TypeError(`${mutation} switches nothing`);
  const known = cache.readFragment<Record<string, unknown>>({
    id: `${it.typename}:${id}`,
    fragment: gql`fragment Before on ${it.typename} { countsVersion ${it.flag} ${it.count} }`,
    returnPartialData: true,
  });
  const object = predicted(it, id, known?.[it.flag] ?? false, known?.[it.count]);
  return { [mutation]: { __typename: "Payload", changed: true, [it.type]: { ...object, countsVersion: known?.countsVersion ?? 0 } } };
}

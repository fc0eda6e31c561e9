/** For urql: counts that never go back, a line for subscriptions, and optimistic results for Graphcache. */

import { CombinedError, type Exchange, type Operation, type OperationResult, makeResult, mapExchange } from "@urql/core";
import type { SubscriptionForwarder } from "@urql/core";
import type { ValueNode } from "graphql";
import { filter, fromPromise, merge, mergeMap, pipe, share } from "wonka";
import { type Switch, keepNewest, predicted, switches } from "./caches.js";
import type { Plaudit } from "./plaudit.js";
import { Newest } from "./versions.js";

/**
 * Gives each result the counts of the highest version that came, by whichever way. It stands after the cache. With
 * `plaudit`, both know the same versions.
 */
export function newestExchange({ newest }: { newest: Newest } = { newest: new Newest() }): Exchange {
  return mapExchange({
    onResult: ({ data, extensions }) => keepNewest(newest, data, extensions?.stale === true),
  });
}

/**
 * Mutations that switch an edge (`likeNote`, `follow`, …) become intents: the latest wins, one request per edge runs at
 * a time, and what cannot be sent waits. Their results come when they are settled; of one that was replaced by a newer
 * one, without data. It stands before `fetchExchange`; the mutation selects counts and own state only.
 */
export function intentsExchange(plaudit: Plaudit): Exchange {
  return ({ forward }) =>
    (operations) => {
      const shared = share(operations);
      const settled = pipe(
        shared,
        filter((operation) => switchOf(operation) !== undefined),
        mergeMap((operation) => fromPromise(settle(plaudit, operation))),
      );
      const rest = pipe(
        shared,
        filter((operation) => switchOf(operation) === undefined),
        forward,
      );
      return merge([settled, rest]);
    };
}

/** The switch of a mutation, and the id of the object. */
function switchOf({ kind, query, variables }: Operation): { it: Switch; id: string } | undefined {
  if (kind !== "mutation") return undefined;
  const [definition] = query.definitions;
  const [root] = definition?.kind === "OperationDefinition" ? definition.selectionSet.selections : [];
  const it = root?.kind === "Field" && switches.find(({ field }) => field === root.name.value);
  if (!it) return undefined;
  const name = `${it.type}Id`;
  const valueOf = (node?: ValueNode) =>
    node?.kind === "Variable" ? variables?.[node.name.value] : node?.kind === "StringValue" ? node.value : undefined;
  const input = root.arguments?.find((argument) => argument.name.value === "input")?.value;
  const isObject = input?.kind === "ObjectValue";
  const id = isObject ? valueOf(input.fields.find((field) => field.name.value === name)?.value) : valueOf(input)?.[name];
  return typeof id === "string" ? { it, id } : undefined;
}

async function settle(plaudit: Plaudit, operation: Operation): Promise<OperationResult> {
  const { it, id } = switchOf(operation)!;
  const outcome = await plaudit.act(it.action, id, it.on);
  if (outcome.state === "refused") {
    const { message, extensions, code } = outcome.error;
    const error = new CombinedError({ graphQLErrors: [{ message, extensions: { ...extensions, code } }] });
    return { ...makeResult(operation, { data: null }), error };
  }
  if (outcome.state === "replaced") return makeResult(operation, { data: null });
  const { id: canonical, counts, countsVersion, own } = plaudit.shown(id);
  const flags = Object.fromEntries(
    switches.filter(({ type, on }) => on && type === it.type).map(({ flag, action }) => [flag, own[action] ?? null]),
  );
  const object = { __typename: it.typename, id: canonical, ...counts, countsVersion, ...flags };
  return makeResult(operation, { data: { [it.field]: { __typename: "Payload", changed: true, [it.type]: object } } });
}

/** For `subscriptionExchange`: subscriptions go over the line of `plaudit`. */
export const forwardTo =
  (plaudit: Plaudit): SubscriptionForwarder =>
  ({ query = "", variables }) => ({
    subscribe: (sink) => ({
      unsubscribe: plaudit.subscribe(
        { query, variables: variables as Record<string, unknown> },
        {
          next: (result) => sink.next(result as never),
          error: (errors) => sink.error(errors),
          complete: () => sink.complete(),
        },
      ),
    }),
  });

interface Entity {
  readonly __typename: string;
  readonly id: string;
}

interface Cache {
  resolve(entity: Entity, field: string): unknown;
}

type OptimisticResolver = (args: any, cache: any, info: any) => any;

const isEntity = (value: unknown): value is Entity => typeof value === "object" && value !== null && "id" in value;

/**
 * Optimistic resolvers of which only the changes are written. Graphcache tells a query of what an optimistic value
 * hid only if that value was a change: without this, a count that is written unchanged hides an event, and stays on the
 * screen after the answer.
 */
export const changesOnly = (resolvers: Record<string, OptimisticResolver>): Record<string, OptimisticResolver> =>
  Object.fromEntries(Object.entries(resolvers).map(([field, resolver]) => [field, resolvesChanges(resolver)]));

const resolvesChanges =
  (resolver: OptimisticResolver): OptimisticResolver =>
  (args, cache: Cache, info) => {
    const payload = Object.entries(resolver(args, cache, info));
    return Object.fromEntries(payload.map(([name, value]) => [name, isEntity(value) ? changesOf(value, cache) : value]));
  };

function changesOf({ __typename, id, ...fields }: Entity, cache: Cache) {
  const changes = Object.entries(fields).filter(([name, value]) => value !== cache.resolve({ __typename, id }, name));
  return { __typename, id, ...Object.fromEntries(changes) };
}

/** For `optimistic` of Graphcache: likes, collects, follows and memberships show at once, and are undone by an error. */
export const optimistic = changesOnly(
  Object.fromEntries(
    switches.map((it) => [
      it.field,
      ({ input }: { input?: unknown }, cache: Cache) => {
        const id = (input as Record<string, string>)[`${it.type}Id`]!;
        const entity = { __typename: it.typename, id };
        const isOn = cache.resolve(entity, it.flag) ?? false;
        const object = predicted(it, id, isOn, cache.resolve(entity, it.count));
        return { __typename: "Payload", changed: isOn !== it.on, [it.type]: object };
      },
    ]),
  ),
);

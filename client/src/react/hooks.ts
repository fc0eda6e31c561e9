import { useCallback, useContext, useMemo, useSyncExternalStore } from "react";
import type { Action, CountedObject, Ref } from "../entities.js";
import { type Shown, createEntities, show } from "../entity.js";
import type { PlauditError } from "../errors.js";
import type { Plaudit } from "../plaudit.js";
import type { CountName } from "../versions.js";
import { NearContext, usePlaudit } from "./provider.js";

/**
 * Objects, live while the component is mounted; inside of `<NearScreen>`, while that is near the screen. On the server,
 * and until counts come, they have none, or those of `initial`.
 */
export function useCounts(refs: readonly Ref[], initial?: readonly CountedObject[]): readonly Shown[] {
  const plaudit = usePlaudit();
  const key = refs.join("\n");
  const source = useMemo(() => sourceOf(plaudit, key ? key.split("\n") : [], initial), [plaudit, key]);
  const isNear = useIsNear();
  return useSyncExternalStore(isNear ? source.subscribe : withoutWatching, source.now, source.first);
}

/** What a button of an action needs. */
export interface ActionState {
  readonly isOn: boolean;
  /** Undefined until it is known. */
  readonly count: number | undefined;
  /** Waits for its answer; it shows already. */
  readonly isPending: boolean;
  /** Why the last action was undone, or why the object cannot be watched. */
  readonly error: PlauditError | undefined;
  readonly toggle: () => void;
}

/** A note or a comment, to be liked. */
export const useLike = (ref: Ref, initial?: CountedObject) => useAction("like", "likeCount", ref, initial);
/** A note, to be collected. */
export const useCollect = (ref: Ref, initial?: CountedObject) => useAction("collect", "collectCount", ref, initial);
/** A user, to be followed. */
export const useFollow = (ref: Ref, initial?: CountedObject) => useAction("follow", "followerCount", ref, initial);
/** A group, to be joined. */
export const useJoin = (ref: Ref, initial?: CountedObject) => useAction("join", "memberCount", ref, initial);

function useAction(action: Action, count: CountName, ref: Ref, initial?: CountedObject): ActionState {
  const plaudit = usePlaudit();
  const [shown] = useCounts([ref], initial && [initial]);
  const isOn = shown!.own[action] ?? false;
  const toggle = useCallback(
    () => void plaudit.act(action, ref, !plaudit.shown(ref).own[action]),
    [plaudit, action, ref],
  );
  const { counts, pending, error } = shown!;
  return { isOn, count: counts[count], isPending: pending.includes(action), error, toggle };
}

/** Whether the component is near the screen, by the `<NearScreen>` around it. */
export const useIsNear = (): boolean => useContext(NearContext);

/**
 * What is shown, and how it is kept live. The first render in the page shows what the server rendered, so it is made
 * from `initial` alone.
 */
function sourceOf(plaudit: Plaudit, refs: Ref[], initial: readonly CountedObject[] = []) {
  const rendered = createEntities();
  refs.forEach((ref, at) => {
    const object = initial[at];
    if (!object) return;
    rendered.receive(object, { ref });
    if (plaudit.shown(ref).countsVersion === undefined) plaudit.receive(object, ref);
  });
  const first = refs.map((ref) => show(rendered.of(ref)));
  const source = plaudit.counts(refs);
  return { subscribe: source.subscribe, now: () => source.current, first: () => first };
}

const withoutWatching = () => () => {};

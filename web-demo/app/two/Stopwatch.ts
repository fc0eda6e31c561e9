import { type Exchange, type Operation, mapExchange } from "urql";
import { type OperationDefinitionNode } from "graphql";

export type Side = "left" | "right";

/** Root fields whose delay is measured. */
const MEASURED = /^(un)?(like|collect|follow)(Note|Comment)?$/;
/** An event that has not arrived after this time is given up. */
const LONGEST_MS = 10_000;

interface CountedObject {
  __typename: string;
  id: string;
  countsVersion: number;
}

/** A change made on one side that the other side has not shown yet. */
interface PendingChange {
  by: Side;
  clickedAt: number;
  object: CountedObject;
}

/** An object as one side has rendered it. */
interface Rendering {
  on: Side;
  at: number;
  object: CountedObject;
}

/**
 * Measures the time from a click on one side until the other side, which learns of it by a subscription event, has
 * rendered it. `countsVersion` tells which event contains the change, also when others change the same count. The
 * event may arrive before the mutation's answer.
 */
export class Stopwatch {
  #clicks: Partial<Record<Side, number>> = {};
  #running = new Map<number, Pick<PendingChange, "by" | "clickedAt">>();
  #pending: PendingChange[] = [];
  #renderings: Rendering[] = [];
  #delays: readonly number[] = [];
  #listeners = new Set<() => void>();

  /** Milliseconds of each measured action of this visit. */
  get delays(): readonly number[] {
    return this.#delays;
  }

  listen = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** `at`: as `performance.now()` and the `timeStamp` of DOM events. */
  click(side: Side, at: number) {
    this.#clicks[side] = at;
  }

  /** An urql exchange that observes the operations and results of one side. */
  exchange(side: Side): Exchange {
    return mapExchange({
      onOperation: (operation) => this.#sent(side, operation),
      onResult: ({ operation, data }) => {
        if (operation.kind === "mutation") this.#answered(operation, data);
        if (operation.kind === "subscription") this.#received(side, data);
      },
    });
  }

  #sent(by: Side, operation: Operation) {
    const clickedAt = this.#clicks[by];
    if (operation.kind !== "mutation" || clickedAt === undefined || !MEASURED.test(rootField(operation))) return;
    delete this.#clicks[by];
    this.#running.set(operation.key, { by, clickedAt });
  }

  #answered(operation: Operation, data: Record<string, Record<string, unknown>> | undefined) {
    const begun = this.#running.get(operation.key);
    this.#running.delete(operation.key);
    const payload = data?.[rootField(operation)];
    const object = Object.values(payload ?? {}).find(isCounted);
    if (!begun || !payload?.changed || !object) return;
    this.#pending.push({ ...begun, object });
    this.#compare();
  }

  #received(on: Side, data: Record<string, unknown> | undefined) {
    const object = Object.values(data ?? {}).find(isCounted);
    if (!object) return;
    afterPaint(() => {
      this.#renderings.push({ on, at: performance.now(), object });
      this.#compare();
    });
  }

  #compare() {
    const since = performance.now() - LONGEST_MS;
    this.#renderings = this.#renderings.filter(({ at }) => at > since);
    this.#pending = this.#pending.filter((pending) => {
      const shown = this.#renderings.find((rendering) => hasChange(rendering, pending));
      if (shown) this.#add(shown.at - pending.clickedAt);
      return !shown && pending.clickedAt > since;
    });
  }

  #add(delay: number) {
    this.#delays = [...this.#delays, delay];
    this.#listeners.forEach((listener) => listener());
  }
}

/** A change of the cache may miss the next frame; it is on the screen when the frame after that begins. */
const afterPaint = (callback: () => void) => requestAnimationFrame(() => requestAnimationFrame(callback));

const hasChange = ({ on, object: shown }: Rendering, { by, object }: PendingChange): boolean =>
  on !== by &&
  shown.__typename === object.__typename &&
  shown.id === object.id &&
  shown.countsVersion >= object.countsVersion;

function isCounted(value: unknown): value is CountedObject {
  return typeof value === "object" && value !== null && "countsVersion" in value && "id" in value;
}

function rootField({ query }: Operation): string {
  const [definition] = query.definitions as OperationDefinitionNode[];
  const [selection] = definition!.selectionSet.selections;
  return selection?.kind === "Field" ? selection.name.value : "";
}

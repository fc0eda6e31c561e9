import { type Exchange, type Operation, mapExchange } from "urql";
import { type OperationDefinitionNode } from "graphql";

export type Side = "left" | "right";

/** Root fields whose delay is measured. */
const MEASURED = /^(un)?(like|collect|follow)(Note|Comment)?$/;
/** An event that takes longer is not measured. */
const MAX_DELAY_MS = 10_000;

interface CountedObject {
  __typename: string;
  id: string;
  countsVersion: number;
}

/** A change on one side that the other side has not rendered yet. */
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
 * Measures the time from a click on one side until the other side, which gets it in a subscription event, has rendered
 * it. `countsVersion` shows which event contains the change, even if others change the same count. The event may arrive
 * before the mutation's response.
 */
export class Stopwatch {
  #clicks: Partial<Record<Side, number>> = {};
  #running = new Map<number, Pick<PendingChange, "by" | "clickedAt">>();
  #pending: PendingChange[] = [];
  #renderings: Rendering[] = [];
  #delays: readonly number[] = [];
  #listeners = new Set<() => void>();

  /** Delay of each measured action in milliseconds, in order. */
  get delays(): readonly number[] {
    return this.#delays;
  }

  listen = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** `at` is on the clock of `performance.now()`, like the `timeStamp` of DOM events. */
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
    const click = this.#running.get(operation.key);
    this.#running.delete(operation.key);
    const payload = data?.[rootField(operation)];
    const object = Object.values(payload ?? {}).find(isCounted);
    if (!click || !payload?.changed || !object) return;
    this.#pending.push({ ...click, object });
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
    const oldest = performance.now() - MAX_DELAY_MS;
    this.#renderings = this.#renderings.filter(({ at }) => at > oldest);
    this.#pending = this.#pending.filter((pending) => {
      const rendering = this.#renderings.find((candidate) => hasChange(candidate, pending));
      if (rendering) this.#add(rendering.at - pending.clickedAt);
      return !rendering && pending.clickedAt > oldest;
    });
  }

  #add(delay: number) {
    this.#delays = [...this.#delays, delay];
    this.#listeners.forEach((listener) => listener());
  }
}

/** React may miss the next frame with a change of the cache; when the frame after that begins, it is on the screen. */
const afterPaint = (callback: () => void) => requestAnimationFrame(() => requestAnimationFrame(callback));

const hasChange = ({ on, object: rendered }: Rendering, { by, object }: PendingChange): boolean =>
  on !== by &&
  rendered.__typename === object.__typename &&
  rendered.id === object.id &&
  rendered.countsVersion >= object.countsVersion;

function isCounted(value: unknown): value is CountedObject {
  return typeof value === "object" && value !== null && "countsVersion" in value && "id" in value;
}

function rootField({ query }: Operation): string {
  const [definition] = query.definitions as OperationDefinitionNode[];
  const [selection] = definition!.selectionSet.selections;
  return selection?.kind === "Field" ? selection.name.value : "";
}

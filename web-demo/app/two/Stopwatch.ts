import { type Exchange, type Operation, mapExchange } from "urql";
import { type OperationDefinitionNode } from "graphql";

export type Side = "left" | "right";

/** What is measured: a click that turns one of these. */
const MEASURED = /^(un)?(like|collect|follow)(Note|Comment)?$/;
/** An event that has not come by then is no longer waited for. */
const LONGEST_MS = 10_000;

interface Counted {
  __typename: string;
  id: string;
  countsVersion: number;
}

/** A change that one side has made, and that the other is to show. */
interface Awaited {
  by: Side;
  clickedAt: number;
  object: Counted;
}

/** An object as one side has drawn it. */
interface Painted {
  on: Side;
  at: number;
  object: Counted;
}

/**
 * Measures how long it takes from a click on one side until the other side, which has heard of it by an event, has
 * drawn it. By `countsVersion` it knows which event has it, also when others change the same count meanwhile; and the
 * event may come before the answer to the one who clicked.
 */
export class Stopwatch {
  #clicks: Partial<Record<Side, number>> = {};
  #running = new Map<number, Pick<Awaited, "by" | "clickedAt">>();
  #awaited: Awaited[] = [];
  #painted: Painted[] = [];
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

  /** `at` is a moment of `performance.now()`, as the `timeStamp` of events is. */
  click(side: Side, at: number) {
    this.#clicks[side] = at;
  }

  /** Sees what goes to the server for one side, and what comes from it. */
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
    this.#awaited.push({ ...begun, object });
    this.#compare();
  }

  #received(on: Side, data: Record<string, unknown> | undefined) {
    const object = Object.values(data ?? {}).find(isCounted);
    if (!object) return;
    onceDrawn(() => {
      this.#painted.push({ on, at: performance.now(), object });
      this.#compare();
    });
  }

  #compare() {
    const since = performance.now() - LONGEST_MS;
    this.#painted = this.#painted.filter(({ at }) => at > since);
    this.#awaited = this.#awaited.filter((awaited) => {
      const shown = this.#painted.find((painted) => hasChange(painted, awaited));
      if (shown) this.#add(shown.at - awaited.clickedAt);
      return !shown && awaited.clickedAt > since;
    });
  }

  #add(delay: number) {
    this.#delays = [...this.#delays, delay];
    this.#listeners.forEach((listener) => listener());
  }
}

/** What is in the cache now may miss the next frame, and is on the screen when the one after it begins. */
const onceDrawn = (tell: () => void) => requestAnimationFrame(() => requestAnimationFrame(tell));

const hasChange = ({ on, object: shown }: Painted, { by, object }: Awaited): boolean =>
  on !== by &&
  shown.__typename === object.__typename &&
  shown.id === object.id &&
  shown.countsVersion >= object.countsVersion;

function isCounted(value: unknown): value is Counted {
  return typeof value === "object" && value !== null && "countsVersion" in value && "id" in value;
}

function rootField({ query }: Operation): string {
  const [definition] = query.definitions as OperationDefinitionNode[];
  const [selection] = definition!.selectionSet.selections;
  return selection?.kind === "Field" ? selection.name.value : "";
}

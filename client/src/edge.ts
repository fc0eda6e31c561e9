/** What is known and wished of one relation of the viewer to an object, and what its count shows meanwhile. */

import type { PlauditError } from "./errors.js";

/** How an intent ended. */
export type Outcome =
  | { readonly state: "done" }
  /** A newer intent, or newer own state, took its place. */
  | { readonly state: "replaced" }
  /** It was undone on the screen; `error` says why. */
  | { readonly state: "refused"; readonly error: PlauditError };

/** That an edge shall be on, or off. */
export interface Intent {
  readonly on: boolean;
  /** The idempotency key: sent twice, it is done once. */
  readonly key: string;
  /** When it was made, in milliseconds since 1970. */
  readonly at: number;
  readonly ended: (outcome: Outcome) => void;
}

export interface Edge {
  /** What the server said last of the edge. */
  own?: boolean | undefined;
  /** Whether the counts that are shown include the edge. */
  has?: boolean | undefined;
  /** `own` is settled, but no counts with it have come. */
  isOwed?: boolean;
  /** The latest intent that is not settled. */
  wish?: Intent | undefined;
  /** The intent whose request runs. */
  flight?: Intent | undefined;
  /** An intent whose answer was lost: it may take effect late, so it is sent again before a newer one. */
  lost?: Intent | undefined;
  /** The version that was shown when that request was sent first. */
  since?: number | undefined;
  error?: PlauditError | undefined;
  /** The moment at which it was settled last. */
  settledAt: number;
}

/** What is shown: the wish at once. */
export const isOn = (edge: Edge): boolean | undefined => edge.wish?.on ?? edge.own;

/** What the shown count has beyond the count that came: 1, 0 or -1. */
export const guess = (edge: Edge): number => (isOn(edge) ? 1 : 0) - (edge.has ? 1 : 0);

/** Own state from a query that was sent at the moment `sentAt`. A later action of this page outweighs it. */
export function read(edge: Edge, own: boolean, sentAt: number) {
  if (edge.flight || sentAt < edge.settledAt) return;
  edge.own = own;
  include(edge, own);
}

/** Counts of a higher version came; the edge's count moved by `step`. */
export function move(edge: Edge, step: number) {
  if (edge.isOwed) include(edge, edge.own);
  // A count that moved as the running request would move it is taken to include it.
  else if (edge.flight && (edge.flight.on ? step > 0 : step < 0)) include(edge, edge.flight.on);
}

/** The running request was answered. `hasRisen`: counts of a higher version have come since it was sent. */
export function settle(edge: Edge, own: boolean, hasRisen: boolean, moment: number) {
  edge.own = own;
  edge.settledAt = moment;
  edge.isOwed = true;
  if (hasRisen) include(edge, own);
}

export function include(edge: Edge, own: boolean | undefined) {
  edge.has = own;
  edge.isOwed = false;
}

/** The wish is over. */
export function end(edge: Edge, outcome: Outcome) {
  edge.wish?.ended(outcome);
  edge.wish = undefined;
}

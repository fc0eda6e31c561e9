/** What Plaudit counts, by type: counts, the viewer's own state, and the mutations that switch it. */

import { PlauditError } from "./errors.js";
import type { CountName } from "./versions.js";

export type Type = "note" | "comment" | "user" | "group";

/** What a user does to an object; each is on or off. */
export type Action = "like" | "collect" | "follow" | "join";

/**
 * An object: its id (`note_42`) or the app's own key (`note:post-1`, `comment:…`, `group:…`, `user:<subject>`).
 */
export type Ref = string;

/** A relation of the viewer to an object, its count, and how it is switched. */
export interface EdgeKind {
  flag: string;
  count: CountName;
  on: string;
  off: string;
}

interface EntityKind {
  counts: string;
  edges: Partial<Record<Action, EdgeKind>>;
}

const edge = (flag: string, count: CountName, on: string, off: string): EdgeKind => ({ flag, count, on, off });

const KINDS: Record<Type, EntityKind> = {
  note: {
    counts: "likeCount collectCount commentCount viewCount ratingCount ratingAverage",
    edges: {
      like: edge("viewerHasLiked", "likeCount", "likeNote", "unlikeNote"),
      collect: edge("viewerHasCollected", "collectCount", "collectNote", "uncollectNote"),
    },
  },
  comment: {
    counts: "likeCount replyCount",
    edges: { like: edge("viewerHasLiked", "likeCount", "likeComment", "unlikeComment") },
  },
  user: {
    counts: "followerCount followingCount noteCount likesReceivedCount collectsReceivedCount groupCount commentCount coinCount",
    edges: { follow: edge("viewerIsFollowing", "followerCount", "follow", "unfollow") },
  },
  group: {
    counts: "memberCount noteCount featuredNoteCount",
    edges: { join: edge("viewerIsMember", "memberCount", "joinGroup", "leaveGroup") },
  },
};

export const typenameOf = (type: Type) => type[0]!.toUpperCase() + type.slice(1);

export const TYPES = Object.keys(KINDS) as Type[];

/** The type of an object, which its id begins with. */
export function typeOf(ref: Ref): Type {
  const [, type] = /^(note|comment|user|group)(?:_\d+$|:.)/.exec(ref) ?? [];
  if (type) return type as Type;
  throw new PlauditError("BAD_REF", `${ref} is no object, as note_42 or note:<your key>`);
}

/** Counts, their version, and what an answer says of the viewer: an object of an answer. */
export interface CountedObject {
  id: string;
  countsVersion: number;
  [field: string]: unknown;
}

/** Fields that go by the version. */
export const isCount = (field: string): field is CountName => field.endsWith("Count") || field === "ratingAverage";

export const actionsOf = (type: Type) => Object.keys(KINDS[type].edges) as Action[];

/** The counts of a type, with the viewer's own state of these actions. */
const fields = (type: Type, actions: Action[]) =>
  `{ id countsVersion ${KINDS[type].counts} ${actions.map((action) => edgeOf(type, action).flag).join(" ")} }`;

/** All counts and the viewer's own state, by the objects' ids. */
export const nodesDocument = () =>
  `query Counts($ids: [ID!]!) { nodes(ids: $ids) { __typename ${TYPES.map(
    (type) => `... on ${typenameOf(type)} ${fields(type, actionsOf(type))}`,
  ).join(" ")} } }`;

/** The live counts of objects of a type. No own state: the server then makes an event once for all who watch. */
export const watchDocument = (type: Type) =>
  `subscription Live($ids: [ID!]!, $rate: Int) { ${type}CountsChanged(${type}Ids: $ids, maxRate: $rate) ${fields(type, [])} }`;

/** Switches an edge. */
export function switchDocument(type: Type, action: Action, on: boolean): string {
  const kind = edgeOf(type, action);
  return `mutation Switch($id: ID!, $key: String) { done: ${on ? kind.on : kind.off}(input: { ${type}Id: $id, idempotencyKey: $key }) { changed ${type} ${fields(type, [action])} } }`;
}

export function edgeOf(type: Type, action: Action): EdgeKind {
  const kind = KINDS[type].edges[action];
  if (kind) return kind;
  throw new PlauditError("BAD_REF", `no ${action} of a ${type}`);
}

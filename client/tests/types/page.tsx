// What TypeScript knows of the package: compiled by tests/types.test.js.

import { type Counts, type Storage, createPlaudit, keepFor } from "plaudit-client";
import { definePlauditElements } from "plaudit-client/element";
import "plaudit-client/react";

const phone: Storage = { getItem: async () => null, setItem: async () => {} };
const plaudit = createPlaudit({ url: "/graphql", keep: keepFor("ann", phone) });
definePlauditElements(plaudit);

export const { counts } = plaudit.shown("note_1");
export const likes: number | undefined = counts.likeCount;
export const doubled = (counts: Counts) => counts.likeCount! * 2;
// @ts-expect-error nobody may have rated
export const rating: number = ({} as Required<Counts>).ratingAverage;

export const element: HTMLElement | null = document.querySelector("plaudit-like");
export const page = (
  <article>
    <plaudit-like note-key="post-1" count={12} version={345} pressed label="Like it" className="like" />
    <plaudit-follow user="user_3" pressed="false" />
    <plaudit-count note="note_42" field="viewCount" />
    {/* @ts-expect-error there is no such attribute */}
    <plaudit-join groups="group_1" />
  </article>
);

// The React components on the server: what they render there is what they render first in a page.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createPlaudit } from "plaudit-client";
import { LikeButton, NearScreen, PlauditProvider, useCounts, useFollow } from "plaudit-client/react";
import { createElement } from "react";
import { renderToString } from "react-dom/server";

const initial = { id: "note_7", countsVersion: 5, likeCount: 12, viewerHasLiked: true };

/** Nothing is asked on a server: there is nobody at the address. */
function render(...children) {
  const fetch = () => assert.fail("a render asked the server");
  const plaudit = createPlaudit({ url: "http://nobody.test/graphql", webSocket: null, fetch });
  return [renderToString(createElement(PlauditProvider, { value: plaudit }, ...children)), plaudit];
}

test("a like button is rendered with the counts that it is given, pressed and named for screen readers", () => {
  const [html] = render(createElement(LikeButton, { of: "note:post-1", initial, className: "like" }));
  assert.equal(html, '<button type="button" aria-pressed="true" aria-label="Like: 12" class="like">12</button>');
});

test("without counts it is rendered without a number, and so is everything near the screen", () => {
  const Follow = () => createElement("i", null, `${useFollow("user:ann").count} ${useFollow("user:ann").isOn}`);
  const Likes = () => createElement("b", null, useCounts(["note_1", "note_2"]).map(({ counts }) => counts.likeCount ?? "–").join());
  const near = createElement(NearScreen, { as: "section" }, createElement(LikeButton, { of: "note_1" }), createElement(Follow));
  const [html] = render(near, createElement(Likes));
  assert.equal(
    html,
    '<section><button type="button" aria-pressed="false" aria-label="Like"></button><i>undefined false</i></section><b>–,–</b>',
  );
});

test("a first render shows what the server rendered, also if something newer has come meanwhile", () => {
  const [, plaudit] = render();
  plaudit.receive({ id: "note_7", countsVersion: 9, likeCount: 99 }, "note:post-1");
  const button = createElement(LikeButton, { of: "note:post-1", initial });
  const html = renderToString(createElement(PlauditProvider, { value: plaudit }, button));
  assert.match(html, />12</);
  assert.equal(plaudit.shown("note:post-1").counts.likeCount, 99);
});

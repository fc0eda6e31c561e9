// Likes, comments and live numbers of the page, by the package plaudit-client: one WebSocket to Plaudit, which carries
// the token. So it needs no cookie, and Plaudit does not have to know where this page comes from.

import { createPlaudit } from "/plaudit-client/index.js";

const { graphql, signedIn } = document.body.dataset;
const isSignedIn = signedIn === "true";

const COMMENT = "fragment CommentText on Comment { id body createdAt state author { name } }";
const MAX_RETRIES = 5;

const plaudit = createPlaudit({ url: graphql, token, rate: 20 });

/** The app's server gives a token; its session says whose. */
async function token() {
  const response = await fetch("/token");
  if (!response.ok) throw new Error(`/token answers ${response.status}`);
  return (await response.json()).token;
}

const cards = new Map([...document.querySelectorAll("[data-key]")].map((card) => [card.dataset.key, card]));
const idOf = (card) => `note:${card.dataset.key}`;
const notice = document.querySelector("[data-notice]");

/** Says why something did not work. */
function tell(error) {
  notice.textContent = error.message ?? "That did not work. Please try again.";
}

/** What the server's page has, and from then on what is newer. It is live while it is near the screen. */
function show(card) {
  const ref = idOf(card);
  const button = card.querySelector("[data-like] button");
  const number = (selector) => card.querySelector(selector);
  const shown = (text) => Number(text.replaceAll(",", ""));
  plaudit.receive(
    {
      id: card.dataset.id,
      countsVersion: Number(card.dataset.version),
      likeCount: shown(number("[data-likes]").textContent),
      commentCount: shown(number("[data-comment-count]").textContent),
      viewerHasLiked: button.getAttribute("aria-pressed") === "true",
    },
    ref,
  );
  plaudit.near(card, ref, () => {
    const { counts, own } = plaudit.shown(ref);
    number("[data-likes]").textContent = counts.likeCount.toLocaleString("en");
    number("[data-comment-count]").textContent = counts.commentCount.toLocaleString("en");
    button.setAttribute("aria-pressed", String(own.like ?? false));
  });
}

/** A like shows at once, whatever the network does. If Plaudit refuses it, the page says why. */
function likeByButton(card) {
  const ref = idOf(card);
  card.querySelector("[data-like]").addEventListener("submit", async (event) => {
    event.preventDefault();
    const { error } = await plaudit.like(ref, !plaudit.shown(ref).own.like);
    if (error) tell(error);
  });
}

/** Sends a request again while Plaudit asks for that, or the connection is lost. All that this page asks may be sent twice. */
async function ask(query, variables) {
  for (let attempt = 0; ; attempt += 1) {
    const { data, errors } = await plaudit.request(query, variables).catch((error) => ({ errors: [error] }));
    if (!errors) return data;
    const [{ message, isRetryable, extensions }] = errors;
    if (!(isRetryable || extensions?.retryable) || attempt === MAX_RETRIES) throw new Error(message);
    const seconds = (extensions?.retryAfter ?? 0) + 2 ** attempt * (0.25 + Math.random() / 4);
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  }
}

const list = document.querySelector("[data-comments]");
const days = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeZone: "UTC" });
const STATES = { PENDING: "waits for approval", REJECTED: "was not published" };
const commentOf = (id) => list.querySelector(`[data-id="${CSS.escape(id)}"]`);

/** Shows a comment at its place, the newest first, or again if it has changed. */
function showComment({ id, body, createdAt, state, author }) {
  const item = document.querySelector("template[data-comment]").content.firstElementChild.cloneNode(true);
  item.dataset.id = id;
  item.querySelector("[data-author]").textContent = author?.name ?? "";
  item.querySelector("[data-body]").textContent = body;
  item.querySelector("[data-state]").textContent = STATES[state] ?? "";
  const time = item.querySelector("time");
  time.dateTime = createdAt;
  time.textContent = days.format(new Date(createdAt));

  const known = commentOf(id);
  if (known) return known.replaceWith(item);
  const older = [...list.children].find((other) => other.querySelector("time").dateTime < createdAt);
  list.insertBefore(item, older ?? null);
}

/** Reads the whole list. Also the viewer's own comments that nobody else sees yet: no event brings them. */
async function readComments(card) {
  const query = `query ($id: ID!) {
    note(id: $id) {
      comments(first: 50, orderBy: NEWEST) { nodes { ...CommentText } }
      viewerUnpublishedComments { ...CommentText }
    }
  } ${COMMENT}`;
  const { note } = await ask(query, { id: idOf(card) });
  const comments = [...(note?.viewerUnpublishedComments ?? []), ...(note?.comments.nodes ?? [])];
  const ids = new Set(comments.map(({ id }) => id));
  for (const item of [...list.children]) if (!ids.has(item.dataset.id)) item.remove();
  comments.forEach(showComment);
}

/**
 * Comments as they are published. The client names the last position when it reconnects, so that nothing is missed.
 * What came before the first position is read once.
 */
function watchComments(card) {
  const query = `subscription ($id: ID!, $after: ChangePosition) {
    noteCommentsChanged(noteId: $id, after: $after) {
      position hasMore removedCommentIds
      comments { ...CommentText isRemoved parent { id } }
    }
  } ${COMMENT}`;
  let isFirst = true;
  const next = ({ data }) => {
    const { comments, removedCommentIds, hasMore } = data?.noteCommentsChanged ?? { comments: [], removedCommentIds: [], hasMore: true };
    // This page shows no replies.
    for (const comment of comments.filter(({ parent }) => !parent)) {
      if (comment.isRemoved) commentOf(comment.id)?.remove();
      else showComment(comment);
    }
    for (const id of removedCommentIds) commentOf(id)?.remove();
    if (isFirst || hasMore) readComments(card).catch(tell);
    isFirst = false;
  };
  const sink = { next, error: ([error]) => tell(error), complete() {} };
  plaudit.subscribe({ query, variables: { id: idOf(card) } }, sink);
}

/** The form's key makes the comment appear once, whatever is sent twice. The next comment gets another. */
function commentByForm(card, form) {
  const query = `mutation ($id: ID!, $body: String!, $key: String!) {
    addComment(input: { noteId: $id, body: $body, idempotencyKey: $key }) { comment { ...CommentText } }
  } ${COMMENT}`;
  const button = form.querySelector("button");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      const variables = { id: idOf(card), body: form.elements.body.value, key: form.elements.key.value };
      const { comment } = (await ask(query, variables)).addComment;
      // It may have been approved, and come by an event, before this answer.
      if (!commentOf(comment.id)) showComment(comment);
      form.reset();
      form.elements.key.value = crypto.randomUUID();
      notice.textContent = "";
    } catch (error) {
      tell(error);
    }
    button.disabled = false;
  });
}

cards.forEach(show);
if (isSignedIn) cards.forEach(likeByButton);
const [card] = cards.values();
if (card && list) watchComments(card);
const form = document.querySelector("[data-write]");
if (card && form && isSignedIn) commentByForm(card, form);

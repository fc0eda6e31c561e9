// Likes, comments and live numbers of the page, over one WebSocket to Plaudit. It carries the token, so it needs no
// cookie, and Plaudit does not have to know where this page comes from.
//
// What is shown is Plaudit's latest word: counts have a version, and an older one never replaces a newer one.

import { createClient } from "/graphql-ws/client.js";

const { socket, signedIn } = document.body.dataset;
const isSignedIn = signedIn === "true";

const COUNTS = "fragment Counts on Note { key likeCount commentCount countsVersion }";
const COMMENT = "fragment CommentText on Comment { id body createdAt state author { name } }";
const LONGEST_PAUSE_MS = 10_000;
const MAX_RETRIES = 5;
const PING_MS = 10_000;
const PONG_WAIT_MS = 5_000;

let pongWait;
const client = createClient({
  url: socket,
  connectionParams: token,
  // A network that is gone may close nothing: a ping without an answer tells.
  keepAlive: PING_MS,
  on: {
    ping: (isFromServer) => {
      if (!isFromServer) pongWait = setTimeout(() => client.terminate(), PONG_WAIT_MS);
    },
    pong: (isFromServer) => isFromServer && clearTimeout(pongWait),
    closed: () => clearTimeout(pongWait),
  },
  // A page stays open for hours: it reconnects forever, and gets the present numbers when it does.
  retryAttempts: Infinity,
  shouldRetry: () => true,
  retryWait: pause,
});

/**
 * A new token for each connection, since the old one has ended when Plaudit closes it. Without an answer of the app's
 * server there is no connection, either: the client tries again after a pause.
 */
async function token() {
  const response = await fetch("/token").catch(() => undefined);
  if (!response?.ok) {
    client.terminate();
    return {};
  }
  const { token } = await response.json();
  return token ? { Authorization: `Bearer ${token}` } : {};
}

/**
 * Grows with the attempts, unless an error says how long. Its random part keeps pages that lost a server at once from
 * coming back at once.
 */
function pause(attempt, errors) {
  const longest = Math.min(250 * 2 ** attempt, LONGEST_PAUSE_MS);
  const asked = (errors?.[0]?.extensions?.retryAfter ?? 0) * 1_000;
  return new Promise((resolve) => setTimeout(resolve, asked + longest * (0.5 + Math.random() / 2)));
}

const isRetryable = (errors) => errors[0]?.extensions?.retryable === true;

/** Sends a query or a mutation. If the connection is lost meanwhile, the client sends it again on the next one. */
function askOnce(query, variables) {
  return new Promise((resolve, reject) => {
    const next = ({ data, errors }) => (errors ? reject(errors) : resolve(data));
    client.subscribe({ query, variables }, { next, error: reject, complete() {} });
  });
}

/** Sends it again while Plaudit asks for that. All that this page sends may be sent twice. */
async function ask(query, variables) {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await askOnce(query, variables);
    } catch (errors) {
      if (!isRetryable(errors) || attempt === MAX_RETRIES) throw errors;
      await pause(attempt, errors);
    }
  }
}

/** Receives events for as long as the page is open. */
async function watch(payload, receive) {
  for (let attempt = 0; ; attempt += 1) {
    try {
      for await (const { data } of client.iterate(payload)) {
        attempt = 0;
        if (data) receive(data);
      }
    } catch (errors) {
      if (!isRetryable(errors)) throw errors;
      await pause(attempt, errors);
    }
  }
}

const cards = new Map([...document.querySelectorAll("[data-key]")].map((card) => [card.dataset.key, card]));
const idOf = (card) => `note:${card.dataset.key}`;
const notice = document.querySelector("[data-notice]");

/** Shows counts, unless the page has newer ones. */
function show(note) {
  const card = cards.get(note.key);
  if (!card || note.countsVersion < Number(card.dataset.version)) return;
  card.dataset.version = note.countsVersion;
  card.querySelector("[data-likes]").textContent = note.likeCount.toLocaleString("en");
  card.querySelector("[data-comment-count]").textContent = note.commentCount.toLocaleString("en");
}

/** Says why something did not work. */
function tell(errors) {
  notice.textContent = errors[0]?.message ?? "That did not work. Please try again.";
}

/** The first event of each post is its present state, so nothing that came after the page was made is missed. */
function watchCounts() {
  const query = `subscription ($ids: [ID!]!) { noteCountsChanged(noteIds: $ids) { ...Counts } } ${COUNTS}`;
  const ids = [...cards.values()].map(idOf);
  return watch({ query, variables: { ids } }, ({ noteCountsChanged }) => show(noteCountsChanged));
}

/** A like shows at once. Plaudit's answer, or its refusal, decides what stays. */
function likeByButton(card) {
  const button = card.querySelector("[data-like] button");
  const mutation = (field) =>
    `mutation ($id: ID!) { ${field}(input: { noteId: $id }) { note { ...Counts viewerHasLiked } } } ${COUNTS}`;
  let isBusy = false;
  const press = (isOn) => button.setAttribute("aria-pressed", String(isOn));

  card.querySelector("[data-like]").addEventListener("submit", async (event) => {
    event.preventDefault();
    if (isBusy) return;
    isBusy = true;
    const wasOn = button.getAttribute("aria-pressed") === "true";
    const field = wasOn ? "unlikeNote" : "likeNote";
    press(!wasOn);
    try {
      const { note } = (await ask(mutation(field), { id: idOf(card) }))[field];
      press(note.viewerHasLiked);
      show(note);
    } catch (errors) {
      press(wasOn);
      tell(errors);
    }
    isBusy = false;
  });
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
 * Comments as they are published. Each event has the position after which to go on, so a new connection brings what
 * the page has missed. What came before the first position is read once.
 */
function watchComments(card) {
  const query = `subscription ($id: ID!, $after: ChangePosition) {
    noteCommentsChanged(noteId: $id, after: $after) {
      position hasMore removedCommentIds
      comments { ...CommentText isRemoved parent { id } }
    }
  } ${COMMENT}`;
  let after;
  const payload = {
    query,
    // The client reads the payload again whenever it reconnects.
    get variables() {
      return { id: idOf(card), after };
    },
  };
  return watch(payload, ({ noteCommentsChanged: changes }) => {
    const isGap = after === undefined || changes.hasMore;
    after = changes.position;
    // This page shows no replies.
    for (const comment of changes.comments.filter(({ parent }) => !parent)) {
      if (comment.isRemoved) commentOf(comment.id)?.remove();
      else showComment(comment);
    }
    for (const id of changes.removedCommentIds) commentOf(id)?.remove();
    if (isGap) readComments(card).catch(tell);
  });
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
    } catch (errors) {
      tell(errors);
    }
    button.disabled = false;
  });
}

if (cards.size) watchCounts();
if (isSignedIn) cards.forEach(likeByButton);
const [card] = cards.values();
if (card && list) watchComments(card);
const form = document.querySelector("[data-write]");
if (card && form && isSignedIn) commentByForm(card, form);

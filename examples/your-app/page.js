// The app's pages, as HTML. They work without JavaScript: a like and a comment are forms. public/live.js takes over
// where it runs.

import { randomUUID } from "node:crypto";

/** Text that is HTML already. */
class Html {
  constructor(text) {
    this.text = text;
  }
}

/** A template whose values are escaped, except those that come from this function. */
function html(strings, ...values) {
  return new Html(strings.reduce((text, string, at) => text + toHtml(values[at - 1]) + string));
}

const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** Nothing for `false`, `null` and `undefined`, so that `condition && html` may stand in a template. */
function toHtml(value) {
  if (value instanceof Html) return value.text;
  if (Array.isArray(value)) return value.map(toHtml).join("");
  if (value === false || value === null || value === undefined) return "";
  return String(value).replace(/[&<>"']/g, (character) => ENTITIES[character]);
}

const day = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeZone: "UTC" });
const time = (at) => html`<time datetime="${at}">${at && day.format(new Date(at))}</time>`;

/**
 * All posts. `counts` has Plaudit's notes by the posts' ids; it is undefined while Plaudit does not answer, and the
 * posts show without numbers.
 */
export function listPage({ posts, counts, ...around }) {
  return page({
    ...around,
    title: "All posts",
    isWithoutCounts: !counts,
    content: html`
      <h1>All posts</h1>
      <div class="posts">
        ${posts.map(
          (post) => html`
            <article class="card" ${postData(post, counts?.get(post.id))}>
              <h2><a href="/posts/${post.id}">${post.title}</a></h2>
              <p class="by">${post.author} · ${time(post.createdAt)}</p>
              ${numbers(post, counts?.get(post.id), around.viewer)}
            </article>
          `,
        )}
      </div>
    `,
  });
}

/** A post with its comments. `note` is Plaudit's; without it the post shows alone. */
export function postPage({ post, note, ...around }) {
  const published = note?.comments.nodes ?? [];
  // One that is published between the reads of both lists is in both.
  const isWaiting = ({ id }) => !published.some((other) => other.id === id);
  const comments = [...(note?.viewerUnpublishedComments ?? []).filter(isWaiting), ...published];
  return page({
    ...around,
    title: post.title,
    isWithoutCounts: !note,
    content: html`
      <p><a href="/">← All posts</a></p>
      <article class="card open" ${postData(post, note)}>
        <h1>${post.title}</h1>
        <p class="by">${post.author} · ${time(post.createdAt)}</p>
        <p class="text">${post.text}</p>
        ${numbers(post, note, around.viewer)}
      </article>
      <section class="comments" aria-labelledby="comments">
        <h2 id="comments">Comments</h2>
        ${note && around.viewer && commentForm(post)}
        ${!around.viewer && html`<p class="soft">Sign in to comment.</p>`}
        <ol data-comments>
          ${comments.map(commentItem)}
        </ol>
        <template data-comment>${commentItem({ state: "APPROVED" })}</template>
      </section>
    `,
  });
}

/** What live.js needs to know of a post. A post that Plaudit does not know cannot be watched, so it gets no key. */
function postData(post, note) {
  return note && html`data-key="${post.id}" data-id="${note.id}" data-version="${note.countsVersion}"`;
}

function numbers(post, note, viewer) {
  const count = (number) => number?.toLocaleString("en") ?? "–";
  return html`
    <div class="numbers">
      <form method="post" action="/posts/${post.id}/like" data-like>
        <input type="hidden" name="on" value="${note?.viewerHasLiked ? "no" : "yes"}" />
        <button
          class="like"
          aria-pressed="${String(note?.viewerHasLiked === true)}"
          ${(!note || !viewer) && html`disabled`}
          ${!viewer && html`title="Sign in to like"`}
        >
          <svg viewBox="0 0 24 24" aria-hidden="true">
            <path d="M12 20.5 4.2 12.9a5 5 0 0 1 7-7.1l.8.8.8-.8a5 5 0 0 1 7 7.1Z" />
          </svg>
          <span class="hidden">Like</span>
          <span data-likes>${count(note?.likeCount)}</span>
        </button>
      </form>
      <span class="replies">
        <svg viewBox="0 0 24 24" aria-hidden="true"><path d="M4 5h16v11H10l-4 4v-4H4Z" /></svg>
        <span class="hidden">Comments:</span> <span data-comment-count>${count(note?.commentCount)}</span>
      </span>
    </div>
  `;
}

const STATES = { PENDING: "waits for approval", REJECTED: "was not published" };

function commentItem({ id, body, createdAt, state, author }) {
  return html`
    <li data-id="${id}">
      <p class="by">
        <strong data-author>${author?.name}</strong> · ${time(createdAt)} <em data-state>${STATES[state]}</em>
      </p>
      <p class="text" data-body>${body}</p>
    </li>
  `;
}

/** The key makes the comment appear once, even if the form is sent twice. */
function commentForm(post) {
  return html`
    <form class="write" method="post" action="/posts/${post.id}/comment" data-write>
      <label for="body">Your comment</label>
      <textarea id="body" name="body" rows="3" maxlength="1024" required></textarea>
      <input type="hidden" name="key" value="${randomUUID()}" />
      <button>Comment</button>
    </form>
  `;
}

function page({ title, content, viewer, users, graphqlUrl, isWithoutCounts }) {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} · Allotment</title>
        <link rel="stylesheet" href="/style.css" />
        <link rel="icon" href="data:," />
        <script type="module" src="/live.js"></script>
      </head>
      <body data-graphql="${graphqlUrl}" data-signed-in="${String(Boolean(viewer))}">
        <header>
          <a class="name" href="/">Allotment</a>
          ${viewer ? signOut(viewer) : signIn(users)}
        </header>
        <main>
          <p class="notice" role="status" data-notice>
            ${isWithoutCounts && "Likes and comments do not answer now. Please try again in a minute."}
          </p>
          ${content}
        </main>
      </body>
    </html>`.text;
}

/** Choosing a name is enough for an example. Your app signs its users in as it always did. */
function signIn(users) {
  return html`
    <form class="sign" method="post" action="/sign-in">
      <label for="user" class="hidden">User</label>
      <select id="user" name="user">
        ${users.map(({ id, name }) => html`<option value="${id}">${name}</option>`)}
      </select>
      <button>Sign in</button>
    </form>
  `;
}

function signOut(viewer) {
  return html`
    <form class="sign" method="post" action="/sign-out">
      <span>${viewer.name}</span>
      <button>Sign out</button>
    </form>
  `;
}

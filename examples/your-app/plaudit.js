// The client of Plaudit that the app's server uses: copy this file first.
//
// The server asks with a token of the role `service`. What it does for a user says so by the header `Plaudit-Act-As`.
// Browsers get tokens of their own user, which end after some minutes, and talk to Plaudit directly (public/live.js).

import { createHmac } from "node:crypto";

/** Lives of tokens. An open page gets a new one whenever its connection ends with the old one. */
const USER_TOKEN_SECONDS = 600;
const SERVICE_TOKEN_SECONDS = 60;

/** How long an action waits for its answer. */
const ACTION_WAIT_MS = 5_000;

/** The most elements that `upsertUsers` and `upsertNotes` take at once. */
const BATCH = 500;

const COUNTS = "fragment Counts on Note { id key likeCount commentCount countsVersion viewerHasLiked }";
const COMMENT = "fragment CommentText on Comment { id body createdAt state author { name } }";

/** Plaudit's id of a post: `key` is the app's own id, so the app stores no other. */
const noteId = (post) => `note:${post.id}`;
const userId = (id) => `user:${id}`;

export class PlauditError extends Error {
  /** `isRetryable`: nothing is wrong with the request, so it may be sent again after a pause. */
  constructor(message, isRetryable) {
    super(message);
    this.name = "PlauditError";
    this.isRetryable = isRetryable;
  }
}

export class Plaudit {
  #url;
  #secret;
  #pageWaitMs;

  /**
   * `secret` is Plaudit's setting `jwt_secret`: whoever has it signs tokens for everybody. It stays on servers.
   * `pageWaitMs` is how long a page waits for its counts: it is better without them than late.
   */
  constructor(url, secret, pageWaitMs) {
    this.#url = url;
    this.#secret = secret;
    this.#pageWaitMs = pageWaitMs;
  }

  /** Where browsers connect. Behind a proxy it is another address than the one that servers use. */
  get origin() {
    return new URL(this.#url).origin;
  }

  /** A token with which the browser of a user, who is signed in to the app, acts as this user. */
  userToken(user) {
    return this.#sign({ sub: user.id }, USER_TOKEN_SECONDS);
  }

  /**
   * Makes users and then posts, with the address of their page, known. It may be done as often as you like: what is
   * known already is changed to what is sent. Returns what was refused, in words, such as a post that a moderator has
   * removed from Plaudit.
   */
  async publish(users, posts, addressOf) {
    const people = users.map(({ id, name, joinedAt }) => ({ subject: id, name, createdAt: joinedAt }));
    // Title and text of a post stay in the app.
    const notes = posts.map((post) => {
      const { id, authorId, createdAt } = post;
      return { key: id, authorId: userId(authorId), createdAt, url: addressOf(post) };
    });
    return [
      ...(await this.#upsert("upsertUsers", "users: [UserUpsert!]!", people)),
      ...(await this.#upsert("upsertNotes", "notes: [NoteUpsert!]!", notes)),
    ];
  }

  /** Each element has a result of its own: one that is refused leaves the others alone. */
  async #upsert(field, variable, elements) {
    const name = variable.split(":")[0];
    const query = `mutation ($${variable}) { ${field}(input: { ${name}: $${name} }) { results { error { message } } } }`;
    const refused = [];
    for (let start = 0; start < elements.length; start += BATCH) {
      const batch = elements.slice(start, start + BATCH);
      const { results } = (await this.#ask(query, { [name]: batch }, { wait: ACTION_WAIT_MS }))[field];
      results.forEach(
        ({ error }, at) => error && refused.push(`${batch[at].key ?? batch[at].subject}: ${error.message}`),
      );
    }
    return refused;
  }

  /** Counts of up to 100 posts, and whether `viewer` likes them, by the posts' ids: one request for a page. */
  async counts(posts, viewer) {
    const query = `query ($keys: [String!]!) { notesByKey(keys: $keys) { ...Counts } } ${COUNTS}`;
    const { notesByKey } = await this.#ask(query, { keys: posts.map(({ id }) => id) }, { viewer });
    return new Map(notesByKey.filter(Boolean).map((note) => [note.key, note]));
  }

  /**
   * Counts and the newest comments of a post, in one request. `viewerUnpublishedComments` are the viewer's own, which
   * nobody else sees yet. Undefined if Plaudit does not know the post.
   */
  async discussion(post, viewer) {
    const query = `query ($id: ID!) {
      note(id: $id) {
        ...Counts
        comments(first: 50, orderBy: NEWEST) { nodes { ...CommentText } }
        viewerUnpublishedComments { ...CommentText }
      }
    } ${COUNTS} ${COMMENT}`;
    const { note } = await this.#ask(query, { id: noteId(post) }, { viewer });
    return note ?? undefined;
  }

  /** Likes a post for `viewer`, or takes the like back. Done twice it counts once. */
  async like(post, isOn, viewer) {
    const field = isOn ? "likeNote" : "unlikeNote";
    const query = `mutation ($id: ID!) { ${field}(input: { noteId: $id }) { changed } }`;
    await this.#ask(query, { id: noteId(post) }, { viewer, wait: ACTION_WAIT_MS });
  }

  /** Comments for `viewer`. `idempotencyKey` comes with the form, so that a form that is sent twice comments once. */
  async comment(post, body, idempotencyKey, viewer) {
    const query = `mutation ($id: ID!, $body: String!, $key: String!) {
      addComment(input: { noteId: $id, body: $body, idempotencyKey: $key }) { comment { id } }
    }`;
    await this.#ask(query, { id: noteId(post), body, key: idempotencyKey }, { viewer, wait: ACTION_WAIT_MS });
  }

  /** Sends a request, as `viewer` if there is one. */
  async #ask(query, variables, { viewer, wait = this.#pageWaitMs }) {
    const service = this.#sign({ sub: "your-app", role: "service" }, SERVICE_TOKEN_SECONDS);
    const headers = { "Content-Type": "application/json", Authorization: `Bearer ${service}` };
    if (viewer) headers["Plaudit-Act-As"] = viewer.id;
    let answer;
    try {
      const body = JSON.stringify({ query, variables });
      const signal = AbortSignal.timeout(wait);
      const response = await fetch(new URL("/graphql", this.#url), { method: "POST", headers, body, signal });
      answer = await response.json();
    } catch (error) {
      throw new PlauditError(`Plaudit does not answer at ${this.#url}: ${error.cause?.message ?? error.message}`, true);
    }
    const [error] = answer.errors ?? [];
    if (error) throw new PlauditError(error.message, error.extensions?.retryable === true);
    return answer.data;
  }

  /** A JWT, signed by HMAC with SHA-256 (HS256). */
  #sign(claims, seconds) {
    const part = (object) => Buffer.from(JSON.stringify(object)).toString("base64url");
    const exp = Math.floor(Date.now() / 1_000) + seconds;
    const signed = `${part({ alg: "HS256", typ: "JWT" })}.${part({ ...claims, exp })}`;
    return `${signed}.${createHmac("sha256", this.#secret).update(signed).digest("base64url")}`;
  }
}

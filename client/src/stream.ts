/**
 * A connection for networks that block WebSockets, and for runtimes without them: requests by POST, subscriptions as
 * server-sent events. It behaves like a `Connection`: when one stream is lost, all of it has ended.
 */

import { type Handlers, type Link, type Payload, type Result, type Sink, GIVEN_UP, NOT_PLAUDIT, REFUSED_TOKEN } from "./connection.js";

const ANSWER_MS = 15_000;
/** The server sends something every 25 seconds. */
const SILENT_MS = 60_000;
/** A proxy whose server is away. */
const AWAY = [502, 503, 504];

export function openStream(
  fetch: typeof globalThis.fetch,
  url: string,
  token: string | undefined,
  { acknowledged, closed }: Handlers,
): Link {
  const running = new Map<string, AbortController>();
  let isOpen = false;
  let isEnded = false;

  function close(code = 1000, reason = "") {
    if (isEnded) return;
    isEnded = true;
    isOpen = false;
    for (const control of running.values()) control.abort();
    closed(code, reason);
  }

  async function post(url: string, payload: Payload, accept: string, signal: AbortSignal) {
    const { query, documentId, variables, operationName } = payload;
    const headers: Record<string, string> = { "Content-Type": "application/json", Accept: accept };
    if (token) headers.Authorization = `Bearer ${token}`;
    const body = JSON.stringify({ query, documentId, variables, operationName });
    return fetch(url, { method: "POST", headers, body, signal });
  }

  /** Status and answer, which is undefined if it is no JSON. React Native has no `AbortSignal.timeout`. */
  async function ask(payload: Payload): Promise<[number, Result | undefined]> {
    const control = new AbortController();
    const timer = setTimeout(() => control.abort(), ANSWER_MS);
    try {
      const response = await post(url, payload, "application/json", control.signal);
      return [response.status, await response.json().catch(() => undefined)];
    } finally {
      clearTimeout(timer);
    }
  }

  const refused = () => close(REFUSED_TOKEN, "the token was refused");

  /** Whether the address is a Plaudit that takes the token. */
  async function greet() {
    const [status, answer] = await ask({ query: "{ __typename }" });
    const isPlaudit = answer?.data?.__typename || answer?.errors?.[0]?.extensions?.code;
    if (status === 401 && isPlaudit) return refused();
    if (AWAY.includes(status)) return close(GIVEN_UP, `the server answers ${status}`);
    if (!isPlaudit) return close(NOT_PLAUDIT, `the answer of ${url} (${status}) is none of Plaudit`);
    if (isEnded) return;
    isOpen = true;
    acknowledged();
  }

  async function request(payload: Payload, sink: Sink) {
    const [status, result] = await ask(payload);
    if (status === 401) return refused();
    if (!result) throw new Error(`the answer ${status} is no JSON`);
    if (isEnded) return;
    sink.next(result);
    sink.complete();
  }

  async function listen(payload: Payload, sink: Sink, { signal }: AbortController) {
    let silence: ReturnType<typeof setTimeout> | undefined;
    const heard = () => {
      clearTimeout(silence);
      silence = setTimeout(() => close(GIVEN_UP, "the stream is silent"), SILENT_MS);
    };
    heard();
    try {
      const response = await post(`${url}/stream`, payload, "text/event-stream", signal);
      if (response.status === 401) return refused();
      if (!response.ok || !response.body) throw new Error(`the stream answers ${response.status}`);
      for await (const { event, data } of events(response.body, heard)) {
        if (signal.aborted) return;
        if (event === "complete") return sink.complete();
        const result = JSON.parse(data) as Result;
        // This is how a stream says that the operation was refused.
        if (result.errors && !("data" in result)) return sink.error(result.errors);
        sink.next(result);
      }
    } finally {
      clearTimeout(silence);
    }
    throw new Error("the stream ended");
  }

  greet().catch(() => close(GIVEN_UP, "the server did not answer"));

  return {
    isOpen: () => isOpen,
    start(id, payload, sink, isRequest) {
      const control = new AbortController();
      running.set(id, control);
      const run = isRequest ? request(payload, sink) : listen(payload, sink, control);
      run
        .catch(() => control.signal.aborted || close(GIVEN_UP, "the stream was lost"))
        .finally(() => running.delete(id));
    },
    stop(id) {
      running.get(id)?.abort();
      running.delete(id);
    },
    close,
  };
}

/** The events of a stream. Comments keep it alive and are no events. */
async function* events(body: ReadableStream<Uint8Array>, heard: () => void) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    heard();
    text += decoder.decode(value, { stream: true });
    const blocks = text.split("\n\n");
    text = blocks.pop()!;
    for (const block of blocks) {
      const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, "m").exec(block)?.[1];
      const event = field("event");
      if (event) yield { event, data: field("data") ?? "" };
    }
  }
}

/** Progress of a storm, as the server reports it four times a second. */
export interface Progress {
  elapsedMs: number;
  /** Actions that succeeded, and those that were refused or failed. */
  acted: number;
  failed: number;
  /** Actions in the last second. */
  perSecond: number;
  done: boolean;
}

/** Size of a storm; it ends by itself. */
export const USERS = 300;
export const SECONDS = 10;

/** Starts simulated users on these notes and yields the server's progress lines. Abort the signal to stop early. */
export async function* storm(noteIds: string[], signal: AbortSignal): AsyncGenerator<Progress> {
  const response = await fetch("/dev/storm", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ users: USERS, seconds: SECONDS, noteIds }),
    signal,
  });
  if (!response.ok) throw new Error(refusal(response.status));
  for await (const line of lines(response.body!)) yield JSON.parse(line);
}

function refusal(status: number): string {
  if (status === 409) return "A storm is already running. Wait until it ends.";
  if (status === 404) return "This server runs no storms.";
  return "The server could not run a storm.";
}

/** Splits a streamed text into lines. */
async function* lines(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop()!;
    yield* parts.filter(Boolean);
  }
}

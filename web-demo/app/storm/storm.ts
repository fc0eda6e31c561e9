/** Progress of a storm, as the server reports it four times a second. */
export interface Progress {
  elapsedMs: number;
  /** Actions that were taken, and those that were refused or failed. */
  acted: number;
  failed: number;
  /** Actions of the last second. */
  perSecond: number;
  done: boolean;
}

/** Size of a storm; it ends by itself. */
export const USERS = 300;
export const SECONDS = 10;

/** Starts simulated users on these notes and yields the server's progress lines. Abort the signal to stop early. */
export async function* storm(noteIds: string[], signal: AbortSignal): AsyncGenerator<Progress> {
  const answer = await fetch("/dev/storm", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ users: USERS, seconds: SECONDS, noteIds }),
    signal,
  });
  if (!answer.ok) throw new Error(refusal(answer.status));
  for await (const line of lines(answer.body!)) yield JSON.parse(line);
}

function refusal(status: number): string {
  if (status === 409) return "There is a storm already. Wait until it is over.";
  if (status === 404) return "This server makes no storms.";
  return "The server could not make a storm.";
}

/** The lines of a text that arrives in pieces. */
async function* lines(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const whole = (rest + value).split("\n");
    rest = whole.pop()!;
    yield* whole.filter(Boolean);
  }
}

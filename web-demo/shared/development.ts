/** What a server in development mode gives to its own pages. */
export interface DevelopmentSession {
  user: string;
  token: string;
  /** A note worth showing, when the server names one. */
  noteId?: string;
}

/** The session to start with, or `undefined` where the server hands out none, as in production. */
export async function developmentSession(): Promise<DevelopmentSession | undefined> {
  const answer = await fetch("/dev/token").catch(() => undefined);
  return answer?.status === 200 ? answer.json() : undefined;
}

/** Errors of the package and of the server, by a code that a program can compare. */

/** Codes of this package. Any other code is the server's (`NOT_FOUND`, `SUSPENDED`, …; see docs/reference/errors.md). */
export type OwnCode =
  /** The address answers, but is no Plaudit. */
  | "WRONG_URL"
  /** The server refused the token, and the next one, too. */
  | "TOKEN_REFUSED"
  /** The app's `token` function failed. */
  | "TOKEN_FAILED"
  /** The server does not know a field that this package asks for: it is of another version. */
  | "OTHER_VERSION"
  /** The connection was lost before the answer; whether the action took effect is not known. */
  | "LOST"
  /** An action waited longer than `maxAge`, and was not sent. */
  | "TOO_OLD"
  /** The text is no id and no key of an object. */
  | "BAD_REF";

/** Why something did not work. */
export class PlauditError extends Error {
  override name = "PlauditError";
  readonly code: OwnCode | (string & {});
  /** Nothing is wrong with the request: the same may work later. */
  readonly isRetryable: boolean;
  /** Seconds to wait before the next attempt, if the server named them. */
  readonly retryAfter: number | undefined;
  /** What else the server says, such as `until` of a suspension. */
  readonly extensions: Readonly<Record<string, unknown>>;

  constructor(code: OwnCode | (string & {}), message: string, extensions: Record<string, unknown> = {}) {
    super(message);
    this.code = code;
    this.isRetryable = extensions.retryable === true;
    this.retryAfter = typeof extensions.retryAfter === "number" ? extensions.retryAfter : undefined;
    this.extensions = extensions;
  }
}

/** An error of a GraphQL answer. */
export interface GraphQLProblem {
  message: string;
  extensions?: Record<string, unknown> | undefined;
}

export const lost = (message = "the connection was lost") =>
  new PlauditError("LOST", message, { retryable: true });

/** The first error of an answer. */
export function problemOf(errors: readonly GraphQLProblem[]): PlauditError {
  const { message, extensions = {} } = errors[0] ?? { message: "no reason given" };
  const code = String(extensions.code ?? "INTERNAL");
  // The documents of this package are right for the server that they were written for.
  const isOther = code === "GRAPHQL_VALIDATION_FAILED" || code === "GRAPHQL_PARSE_FAILED";
  if (!isOther) return new PlauditError(code, message, extensions);
  return new PlauditError("OTHER_VERSION", `another version of the server: ${message}`, extensions);
}

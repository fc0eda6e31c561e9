import { type CombinedError } from "urql";

/** Whether the server refused the id of the page's address: no object can have it. */
export const isInvalidId = (error: CombinedError | undefined): boolean =>
  error?.graphQLErrors[0]?.extensions.code === "BAD_USER_INPUT";

/** Whether the action was refused because the viewer is suspended. */
export const isSuspended = (error: CombinedError | undefined): boolean =>
  error?.graphQLErrors[0]?.extensions.code === "SUSPENDED";

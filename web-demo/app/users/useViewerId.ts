import { useQuery } from "urql";
import { ViewerDocument } from "../../shared/api/generated";
import { useApi } from "../../shared/api/client";

/** Who looks at the page; `undefined` for somebody who is not signed in, or has not done anything yet. */
export function useViewerId(): string | undefined {
  const { session } = useApi();
  const [{ data }] = useQuery({ query: ViewerDocument, pause: !session });
  return data?.viewer?.id;
}

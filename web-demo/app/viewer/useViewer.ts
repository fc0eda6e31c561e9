import { useQuery } from "urql";
import { useApi } from "../../shared/api/client";
import { ViewerDocument, type ViewerQuery } from "../../shared/api/generated";

/** The viewer's user; null if nobody is signed in, or before the viewer's first action. */
export function useViewer(): NonNullable<NonNullable<ViewerQuery["viewer"]>["user"]> | null {
  const { session } = useApi();
  const [{ data }] = useQuery({ query: ViewerDocument, pause: !session });
  return data?.viewer?.user ?? null;
}

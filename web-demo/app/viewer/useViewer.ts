import { useQuery } from "urql";
import { useApi } from "../../shared/api/client";
import { ViewerDocument, type ViewerQuery } from "../../shared/api/generated";

/** The user as whom one acts; null for nobody, and before the first action of somebody new. */
export function useViewer(): NonNullable<ViewerQuery["viewer"]> | null {
  const { session } = useApi();
  const [{ data }] = useQuery({ query: ViewerDocument, pause: !session });
  return data?.viewer ?? null;
}

import { type ReactNode } from "react";
import { useQuery } from "urql";
import { ViewerDocument, type ViewerQuery } from "../../shared/api/generated";
import { useApi } from "../../shared/api/client";
import { Empty, Loading, Problem } from "../../shared/ui/States";
import { PageHead } from "./PageHead";

type Found = NonNullable<ViewerQuery["viewer"]>;

/** A viewer after their first action. */
export type Viewer = Found & { user: NonNullable<Found["user"]> };

interface Props {
  /** The content that needs a viewer, such as `your inbox`. */
  what: string;
  /** Title of the page, if the whole page belongs to the viewer. */
  title?: string;
  children: (viewer: Viewer) => ReactNode;
}

/** Content that needs the viewer's user. Without one it says to sign in or to act first. */
export function ForViewer({ what, title, children }: Props) {
  const { session } = useApi();
  const [{ data, fetching, error }, run] = useQuery({ query: ViewerDocument, pause: !session });
  const viewer = data?.viewer;
  if (viewer?.user) return children({ ...viewer, user: viewer.user });
  return (
    <>
      {title && <PageHead title={title} />}
      {!session ? (
        <Empty title={`Sign in to see ${what}.`}>Everything else can be read without an account.</Empty>
      ) : error ? (
        <Problem error={error} retry={() => run({ requestPolicy: "network-only" })} />
      ) : fetching ? (
        <Loading />
      ) : (
        <Empty title="You are new here.">Like, follow or post something to see {what} here.</Empty>
      )}
    </>
  );
}

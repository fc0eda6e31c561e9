import { type ReactNode } from "react";
import { useQuery } from "urql";
import { ViewerDocument, type ViewerQuery } from "../../shared/api/generated";
import { useApi } from "../../shared/api/client";
import { Empty, Loading, Problem } from "../../shared/ui/States";
import { PageHead } from "./PageHead";

export type Viewer = NonNullable<ViewerQuery["viewer"]>;

interface Props {
  /** What one would see, such as `your inbox`. */
  what: string;
  /** Of the page, when all of it is about oneself. */
  title?: string;
  children: (viewer: Viewer) => ReactNode;
}

/** What is about oneself; somebody who is nobody yet is told how to become somebody. */
export function ForViewer({ what, title, children }: Props) {
  const { session } = useApi();
  const [{ data, fetching, error }, run] = useQuery({ query: ViewerDocument, pause: !session });
  if (data?.viewer) return children(data.viewer);
  return (
    <>
      {title && <PageHead title={title} />}
      {!session ? (
        <Empty title={`Sign in to see ${what}.`}>Everything else is open: read on, nobody minds.</Empty>
      ) : error ? (
        <Problem error={error} retry={() => run({ requestPolicy: "network-only" })} />
      ) : fetching ? (
        <Loading />
      ) : (
        <Empty title="You are new here.">Like, follow or post something, and this is where you find {what}.</Empty>
      )}
    </>
  );
}

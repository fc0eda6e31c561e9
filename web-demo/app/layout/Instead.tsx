import { type CombinedError } from "urql";
import { isInvalidId } from "../../shared/api/errors";
import { Empty, Loading, Problem } from "../../shared/ui/States";
import { PageHead } from "./PageHead";

interface Props {
  /** What the page is about, such as `Profile`. */
  title: string;
  isLoading: boolean;
  error?: CombinedError;
  retry: () => void;
}

/** What a page about one thing shows while it has not got it, or when there is no such thing. */
export function Instead({ title, isLoading, error, retry }: Props) {
  return (
    <>
      <PageHead title={title} back />
      {isLoading ? (
        <Loading />
      ) : error && !isInvalidId(error) ? (
        <Problem error={error} retry={retry} />
      ) : (
        <Empty title="There is nothing at this address.">Perhaps it was removed.</Empty>
      )}
    </>
  );
}

import { type CombinedError } from "urql";
import { isInvalidId } from "../../shared/api/errors";
import { Empty, Loading, Problem } from "../../shared/ui/States";
import { PageHead } from "./PageHead";

interface Props {
  /** Title of the page, such as `Profile`. */
  title: string;
  isLoading: boolean;
  error?: CombinedError;
  retry: () => void;
}

/** Replaces a page while its object is loading, after an error, and when there is no such object. */
export function Instead({ title, isLoading, error, retry }: Props) {
  return (
    <>
      <PageHead title={title} back />
      {isLoading ? (
        <Loading />
      ) : error && !isInvalidId(error) ? (
        <Problem error={error} retry={retry} />
      ) : (
        <Empty title="There is nothing at this address.">It may have been removed.</Empty>
      )}
    </>
  );
}

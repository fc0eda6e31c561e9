import { type ReactNode, useEffect, useRef } from "react";
import { type CombinedError } from "urql";
import { Loading, Problem } from "../ui/States";
import { useInView } from "./useInView";

interface Props {
  children: ReactNode;
  /** Whether the server has more. */
  hasMore: boolean;
  isLoading: boolean;
  error?: CombinedError;
  /** Requests the next page. */
  onMore: () => void;
  onRetry: () => void;
}

/** An infinite list: the next page is requested before the end is on the screen. */
export function Endless({ children, hasMore, isLoading, error, onMore, onRetry }: Props) {
  const end = useRef<HTMLDivElement>(null);
  const isNear = useInView(end, "800px");
  useEffect(() => {
    if (isNear && hasMore && !isLoading && !error) onMore();
  }, [isNear, hasMore, isLoading, error, onMore]);

  return (
    <>
      {children}
      <div ref={end} />
      {error ? <Problem error={error} retry={onRetry} /> : isLoading && <Loading />}
    </>
  );
}

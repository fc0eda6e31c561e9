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
  /** Asks for the next page. */
  onMore: () => void;
  onRetry: () => void;
}

/** A list that goes on while one scrolls; what follows is asked for before its end is on the screen. */
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

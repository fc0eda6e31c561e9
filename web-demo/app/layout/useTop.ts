import { useEffect, useRef } from "react";
import { useLocation } from "wouter";

/** Scrolls a new page to its top. When the user goes back, the browser restores the position. */
export function useTop() {
  const [path] = useLocation();
  const before = useRef(path);
  const isBack = useRef(false);
  useEffect(() => {
    const markBack = () => (isBack.current = true);
    addEventListener("popstate", markBack);
    return () => removeEventListener("popstate", markBack);
  }, []);
  useEffect(() => {
    if (before.current !== path && !isBack.current) scrollTo(0, 0);
    before.current = path;
    isBack.current = false;
  }, [path]);
}

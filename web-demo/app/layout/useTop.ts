import { useEffect, useRef } from "react";
import { useLocation } from "wouter";

/** Shows a new page from its top. Going back, the browser finds the place where one was. */
export function useTop() {
  const [path] = useLocation();
  const before = useRef(path);
  const isBack = useRef(false);
  useEffect(() => {
    const note = () => (isBack.current = true);
    addEventListener("popstate", note);
    return () => removeEventListener("popstate", note);
  }, []);
  useEffect(() => {
    if (before.current !== path && !isBack.current) scrollTo(0, 0);
    before.current = path;
    isBack.current = false;
  }, [path]);
}

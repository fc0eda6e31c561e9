/** Whether an element is on the screen, or near it. */

const MARGIN = "200px";

/** Calls back with each change, until the returned function is called. */
export function whileNear(element: Element, changed: (isNear: boolean) => void, margin = MARGIN): () => void {
  const observer = new IntersectionObserver((entries) => changed(entries.at(-1)!.isIntersecting), {
    rootMargin: margin,
  });
  observer.observe(element);
  return () => {
    observer.disconnect();
    changed(false);
  };
}

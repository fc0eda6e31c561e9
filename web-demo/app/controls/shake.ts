const SHAKE = [0, -4, 4, -3, 3, 0].map((x) => ({ transform: `translateX(${x}px)` }));

/** Animates a switch whose action was undone. */
export const shake = (element: Element | null) => void element?.animate(SHAKE, 300);

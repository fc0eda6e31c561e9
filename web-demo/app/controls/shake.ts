const SHAKE = [0, -4, 4, -3, 3, 0].map((x) => ({ transform: `translateX(${x}px)` }));

/** Shows at a switch that what it did was taken back. */
export const shake = (element: Element | null) => void element?.animate(SHAKE, 300);

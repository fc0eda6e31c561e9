/** Items per subscription; it runs while one of them is near the screen. */
const SIZE = 10;

/** Splits a list into parts of `size`, so that only parts near the screen have a subscription. */
export function chunks<Item>(items: Item[], size = SIZE): Item[][] {
  const count = Math.ceil(items.length / size);
  return Array.from({ length: count }, (_, i) => items.slice(i * size, (i + 1) * size));
}

/** The same, but the first part is the one that is not full: a new first item changes only that one. */
export const chunksFromEnd = <Item,>(items: Item[], size = SIZE): Item[][] =>
  chunks([...items].reverse(), size)
    .map((chunk) => chunk.reverse())
    .reverse();

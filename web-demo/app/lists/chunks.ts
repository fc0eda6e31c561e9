/** Items that share a subscription; it runs while one of them is near the screen. */
const SIZE = 10;

/** A list in parts of equal size, the last one perhaps smaller, so that only what is near the screen is listened to. */
export function chunks<Item>(items: Item[], size = SIZE): Item[][] {
  const count = Math.ceil(items.length / size);
  return Array.from({ length: count }, (_, i) => items.slice(i * size, (i + 1) * size));
}

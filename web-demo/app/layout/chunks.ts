/** Items that share a subscription; it runs while one of them is near the screen. */
const SIZE = 10;

/** A list in parts of equal size, so that only what is near the screen is listened to. */
export function chunks<Item>(items: Item[]): Item[][] {
  const count = Math.ceil(items.length / SIZE);
  return Array.from({ length: count }, (_, i) => items.slice(i * SIZE, (i + 1) * SIZE));
}

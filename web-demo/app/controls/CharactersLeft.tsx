import styles from "./CharactersLeft.module.css";

/** The number shows from this many characters before the limit. */
const NEAR = 120;

/** The number of characters left, near the limit. */
export function CharactersLeft({ most, length }: { most: number; length: number }) {
  const left = most - length;
  if (left > NEAR) return null;
  return (
    <span className={styles.left} data-over={left < 0}>
      {left < 0 ? `${-left} too many` : `${left} left`}
    </span>
  );
}

/** Characters as the server counts them: code points, without the white space around the text. */
export const lengthOf = (text: string): number => [...text.trim()].length;

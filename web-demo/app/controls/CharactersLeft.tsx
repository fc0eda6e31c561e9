import styles from "./CharactersLeft.module.css";

/** The number is shown when at most this many characters are left. */
const THRESHOLD = 120;

/** The number of characters left, shown near the limit. */
export function CharactersLeft({ max, length }: { max: number; length: number }) {
  const left = max - length;
  if (left > THRESHOLD) return null;
  return (
    <span className={styles.left} data-over={left < 0}>
      {left < 0 ? `${-left} too many` : `${left} left`}
    </span>
  );
}

/** Characters as the server counts them: code points, without surrounding white space. */
export const lengthOf = (text: string): number => [...text.trim()].length;

import styles from "./CharactersLeft.module.css";

/** From how many characters before the end one is told. */
const NEAR = 120;

/** How many characters are left, once that is worth knowing. */
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

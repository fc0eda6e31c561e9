import styles from "./SkipLink.module.css";

/** The first element in tab order: skips the navigation. */
export function SkipLink() {
  return (
    <a href="#main" className={styles.skip}>
      Skip to the page
    </a>
  );
}

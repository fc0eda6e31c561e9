import styles from "./SkipLink.module.css";

/** The first thing that the Tab key comes to: past the navigation, to the page. */
export function SkipLink() {
  return (
    <a href="#main" className={styles.skip}>
      Skip to the page
    </a>
  );
}

import styles from "./Avatar.module.css";

/** Initials on a colour derived from the name. */
export function Avatar({ name, size = 40 }: { name: string; size?: number }) {
  const initials = name
    .split(/[\s._-]+/)
    .filter(Boolean)
    .map((word) => [...word][0]!.toUpperCase());
  return (
    <span
      className={styles.avatar}
      style={{ "--size": `${size}px`, "--hue": hue(name) } as React.CSSProperties}
      aria-hidden="true"
    >
      {initials[0]}
      {initials.length > 1 && initials.at(-1)}
    </span>
  );
}

function hue(name: string): number {
  let hash = 7;
  for (const character of name) hash = (hash * 31 + character.codePointAt(0)!) % 360;
  return hash;
}

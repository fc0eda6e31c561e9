import { type ButtonHTMLAttributes } from "react";
import styles from "./Button.module.css";

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  /** `primary`: the page's main action; `quiet`: a secondary one. */
  look?: "primary" | "plain" | "quiet";
}

export function Button({ look = "plain", className = "", type = "button", ...rest }: Props) {
  return <button type={type} className={`${styles.button} ${styles[look]} ${className}`} {...rest} />;
}

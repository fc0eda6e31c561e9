import { ArrowUp } from "lucide-react";
import { Button } from "../../shared/ui/Button";
import styles from "./Offer.module.css";

interface Props {
  /** What is offered, such as `3 new notes`; nothing if it is empty. */
  text: string;
  /** Below a second sticky bar. */
  isLow?: boolean;
  onShow: () => void;
}

/** A button above a list that shows what is new in it. */
export function Offer({ text, isLow = false, onShow }: Props) {
  return (
    <div className={`${styles.offer} ${isLow ? styles.low : ""}`} role="status">
      {text && (
        <Button look="primary" onClick={onShow}>
          <ArrowUp size={16} aria-hidden="true" /> Show {text}
        </Button>
      )}
    </div>
  );
}

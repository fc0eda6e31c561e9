import { CircleAlert, X } from "lucide-react";
import { type ReactNode, createContext, useCallback, useContext, useState } from "react";
import styles from "./toasts.module.css";

/** How long a message stays, in milliseconds. */
const LIFE_MS = 6_000;
const MAX_TOASTS = 3;

interface Toast {
  id: number;
  text: string;
}

const MessageContext = createContext<(text: string) => void>(() => {});

/** A function that shows a message for some seconds. */
export const useShowMessage = () => useContext(MessageContext);

let nextId = 1;

/** Shows the messages of `useShowMessage` above the page and announces them to screen readers. */
export function Toasts({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<Toast[]>([]);
  const drop = useCallback((id: number) => setToasts((all) => all.filter((toast) => toast.id !== id)), []);
  const showMessage = useCallback(
    (text: string) => {
      const id = nextId++;
      setToasts((all) => [...all.filter((toast) => toast.text !== text), { id, text }].slice(-MAX_TOASTS));
      setTimeout(() => drop(id), LIFE_MS);
    },
    [drop],
  );
  return (
    <MessageContext value={showMessage}>
      {children}
      <div className={styles.toasts} role="status" aria-live="polite">
        {toasts.map(({ id, text }) => (
          <div key={id} className={styles.toast}>
            <CircleAlert size={18} aria-hidden="true" />
            {text}
            <button aria-label="Dismiss" onClick={() => drop(id)}>
              <X size={16} />
            </button>
          </div>
        ))}
      </div>
    </MessageContext>
  );
}

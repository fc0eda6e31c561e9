import { Check, ChevronDown, Copy } from "lucide-react";
import { useRef, useState } from "react";
import { useApi } from "../../shared/api/client";
import { type OperationEntry } from "../../shared/api/journal";
import { useShowMessage } from "../../shared/ui/toasts";
import styles from "./CopyMenu.module.css";
import { SNIPPETS } from "./snippets";

/** How long the confirmation shows, in milliseconds. */
const CONFIRMATION_MS = 2_000;

/** A menu that copies the operation as a program. */
export function CopyMenu({ operation: { kind, query, variables } }: { operation: OperationEntry }) {
  const user = useApi().session?.user;
  const showMessage = useShowMessage();
  const menu = useRef<HTMLDetailsElement>(null);
  const [copied, setCopied] = useState<string>();

  async function copy({ name, write }: (typeof SNIPPETS)[number]) {
    menu.current!.open = false;
    menu.current!.querySelector("summary")!.focus();
    try {
      await navigator.clipboard.writeText(write({ kind, query, variables, origin: location.origin, user }));
    } catch {
      return showMessage("The browser allows copying only on https and on localhost.");
    }
    setCopied(name);
    setTimeout(() => setCopied(undefined), CONFIRMATION_MS);
  }

  return (
    <details
      ref={menu}
      className={styles.menu}
      onBlur={({ currentTarget, relatedTarget }) => {
        if (relatedTarget && !currentTarget.contains(relatedTarget)) currentTarget.open = false;
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !event.currentTarget.open) return;
        event.stopPropagation();
        event.currentTarget.open = false;
        event.currentTarget.querySelector("summary")!.focus();
      }}
    >
      <summary>
        {copied ? <Check size={16} aria-hidden="true" /> : <Copy size={16} aria-hidden="true" />}
        <span role="status">{copied ? `${copied} copied` : "Copy as"}</span>
        {!copied && <ChevronDown size={14} aria-hidden="true" />}
      </summary>
      <ul>
        {SNIPPETS.map((snippet) => (
          <li key={snippet.name}>
            <button onClick={() => copy(snippet)}>{snippet.name}</button>
          </li>
        ))}
      </ul>
    </details>
  );
}

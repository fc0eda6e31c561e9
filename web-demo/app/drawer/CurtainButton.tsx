import { Activity } from "lucide-react";
import { useCurtain } from "./Curtain";

/** Opens and closes the drawer. */
export function CurtainButton() {
  const { isOpen, turn } = useCurtain();
  return (
    <button
      aria-label="Behind the curtain"
      aria-expanded={isOpen}
      aria-keyshortcuts="Control+."
      title="Behind the curtain (Ctrl+.)"
      onClick={turn}
    >
      <Activity size={19} />
    </button>
  );
}

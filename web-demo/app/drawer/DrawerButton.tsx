import { Activity } from "lucide-react";
import { useDrawer } from "./DrawerProvider";

/** Opens and closes the drawer. */
export function DrawerButton() {
  const { isOpen, toggle } = useDrawer();
  return (
    <button
      aria-label="Network traffic"
      aria-expanded={isOpen}
      aria-keyshortcuts="Control+."
      title="Network traffic (Ctrl+.)"
      onClick={toggle}
    >
      <Activity size={19} />
    </button>
  );
}

import { type ReactNode, createContext, lazy, Suspense, useCallback, useContext, useEffect, useMemo, useState } from "react";
import { type Api, useApi } from "../../shared/api/client";

const Drawer = lazy(() => import("./Drawer"));

interface Curtain {
  isOpen: boolean;
  turn: () => void;
}

const CurtainContext = createContext<Curtain>({ isOpen: false, turn: () => {} });

export const useCurtain = () => useContext(CurtainContext);

interface Props {
  children: ReactNode;
  /** The clients whose traffic it can show; by default the page's own. */
  apis?: Api[];
}

/** Lets its children open the drawer, which is loaded when it is first opened. */
export function CurtainProvider({ children, apis }: Props) {
  const own = useApi();
  const [isOpen, setOpen] = useState(false);
  const turn = useCallback(() => setOpen((open) => !open), []);
  const curtain = useMemo(() => ({ isOpen, turn }), [isOpen, turn]);

  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key !== "." || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      turn();
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, [turn]);

  return (
    <CurtainContext value={curtain}>
      {children}
      {isOpen && (
        <Suspense>
          <Drawer apis={apis ?? [own]} onClose={turn} />
        </Suspense>
      )}
    </CurtainContext>
  );
}

import { createContext, useContext } from "react";
import type { Plaudit } from "../plaudit.js";

const PlauditContext = createContext<Plaudit | undefined>(undefined);

/** `<PlauditProvider value={plaudit}>`: whose counts and actions the components below have. */
export const PlauditProvider = PlauditContext.Provider;

export function usePlaudit(): Plaudit {
  const plaudit = useContext(PlauditContext);
  if (!plaudit) throw new Error("no PlauditProvider above this component");
  return plaudit;
}

/** Whether the components below are near the screen. */
export const NearContext = createContext(true);

import { type ElementType, type ReactNode, useEffect, useRef, useState } from "react";
import { whileNear } from "../near.js";
import { NearContext } from "./provider.js";

interface NearScreenProps {
  /** The element to make; by default a `div`. */
  as?: ElementType;
  children?: ReactNode;
  [attribute: string]: unknown;
}

/** What is inside is live only while this is near the screen. */
export function NearScreen({ as: Place = "div", children, ...rest }: NearScreenProps) {
  const place = useRef<Element>(null);
  const [isNear, setNear] = useState(false);
  useEffect(() => whileNear(place.current!, setNear), []);
  return (
    <NearContext.Provider value={isNear}>
      <Place ref={place} {...rest}>
        {children}
      </Place>
    </NearContext.Provider>
  );
}

import { createContext, useContext } from "react";
import { type Monitored } from "./monitor";
import { Readings } from "./readings";

export const MonitorContext = createContext<Monitored>({ state: "starting", history: [] });

export const useMonitored = () => useContext(MonitorContext);

/** The newest numbers; below `MonitorContext` there always are some. */
export const useReadings = () => useMonitored().readings ?? new Readings([]);

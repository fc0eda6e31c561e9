import { createContext, useContext } from "react";
import { type MonitorState } from "./monitor";
import { Readings } from "./readings";

export const MonitorContext = createContext<MonitorState>({ state: "starting", history: [] });

export const useMonitorState = () => useContext(MonitorContext);

/** The current readings; never empty inside the dashboard. */
export const useReadings = () => useMonitorState().readings ?? new Readings([]);

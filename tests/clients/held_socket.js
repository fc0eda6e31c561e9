// A network that delivers what a server pushes late.

import { WebSocket } from "./watching.js";

/** A class of sockets that can hold back what they receive, in order. */
export function heldWebSocket() {
  let isHolding = false;
  let held = [];
  let waiting = [];

  const isHeld = (text) => held.some(({ data }) => data.toString().includes(text));

  class HeldWebSocket extends WebSocket {
    emit(event, data, ...rest) {
      if (!isHolding || event !== "message") return super.emit(event, data, ...rest);
      held.push({ data, deliver: () => super.emit(event, data, ...rest) });
      waiting = waiting.filter(({ text, resolve }) => !isHeld(text) || resolve());
      return true;
    }
  }

  return {
    WebSocket: HeldWebSocket,
    hold: () => (isHolding = true),
    /** Waits until a message that contains the text is held back. */
    holds: (text) => new Promise((resolve) => (isHeld(text) ? resolve() : waiting.push({ text, resolve }))),
    release() {
      isHolding = false;
      const messages = held;
      held = [];
      for (const { deliver } of messages) deliver();
    },
  };
}

// A network that delivers what a server pushes late.

import { WebSocket } from "./watching.js";

/** A class of sockets that can hold back messages, and deliver them later in their order. */
export function heldWebSocket() {
  let heldText;
  let held = [];
  let waiting = [];

  const isHeld = (text) => held.some(({ data }) => data.toString().includes(text));

  class HeldWebSocket extends WebSocket {
    emit(event, data, ...rest) {
      const isDelivered = event !== "message" || heldText === undefined || !data.toString().includes(heldText);
      if (isDelivered) return super.emit(event, data, ...rest);
      held.push({ data, deliver: () => super.emit(event, data, ...rest) });
      waiting = waiting.filter(({ text, resolve }) => !isHeld(text) || resolve());
      return true;
    }
  }

  return {
    WebSocket: HeldWebSocket,
    /** From now on messages that contain the text are held back; by default, all. */
    hold: (text = "") => (heldText = text),
    /** Waits until a message that contains the text is held back. */
    holds: (text) => new Promise((resolve) => (isHeld(text) ? resolve() : waiting.push({ text, resolve }))),
    release() {
      heldText = undefined;
      const messages = held;
      held = [];
      for (const { deliver } of messages) deliver();
    },
  };
}

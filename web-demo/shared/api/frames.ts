import { type Journal } from "./journal";

/** A WebSocket that writes its frames into the journal. */
export function recordingWebSocket(journal: Journal): typeof WebSocket {
  const record = (direction: "sent" | "received", message: string, text: string) =>
    journal.add({ type: "frame", id: journal.nextId(), direction, at: Date.now(), message, text });

  return class extends WebSocket {
    constructor(url: string | URL, protocols?: string | string[]) {
      super(url, protocols);
      this.addEventListener("open", () => record("received", "open", ""));
      this.addEventListener("close", ({ code, reason }) => record("received", "close", `${code} ${reason}`));
      this.addEventListener("message", ({ data }) => record("received", messageType(data), data));
    }

    override send(data: string) {
      // The token of `connection_init` is not recorded.
      const type = messageType(data);
      record("sent", type, type === "connection_init" ? '{"type":"connection_init","payload":…}' : data);
      super.send(data);
    }
  };
}

const messageType = (text: string): string => /"type":"(\w+)"/.exec(text)?.[1] ?? "?";

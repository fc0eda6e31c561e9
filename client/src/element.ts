/** `<plaudit-like note="…">`: a like button for pages without a framework. */

import type { Ref } from "./entities.js";
import type { Plaudit } from "./plaudit.js";

const exactly = new Intl.NumberFormat();

/**
 * Defines the element. Its attribute `note` or `comment` is an id, or the app's own key; `label` is what screen readers
 * say ("Like"). It is live while it is near the screen. It makes a `<button>` with `<span data-count>`, or takes those
 * that it finds inside, such as those of the server's HTML. When a like is refused and undone, it sends the event
 * `plaudit-refused`, whose `detail` is the error.
 */
export function definePlauditLike(plaudit: Plaudit, name = "plaudit-like"): void {
  class PlauditLike extends HTMLElement {
    static observedAttributes = ["note", "comment"];
    #stop: (() => void) | undefined;

    connectedCallback() {
      this.#start();
    }

    disconnectedCallback() {
      this.#stop?.();
      this.#stop = undefined;
    }

    attributeChangedCallback() {
      if (this.#stop) this.#start();
    }

    #start() {
      this.#stop?.();
      const ref = refOf(this);
      if (!ref) return;
      const button = this.querySelector("button") ?? this.appendChild(document.createElement("button"));
      const count = this.querySelector("[data-count]") ?? button.appendChild(document.createElement("span"));
      count.setAttribute("data-count", "");
      button.type = "button";
      const label = this.getAttribute("label") ?? "Like";
      const show = () => {
        const { counts, own, error } = plaudit.shown(ref);
        const likes = counts.likeCount;
        button.setAttribute("aria-pressed", String(own.like ?? false));
        button.setAttribute("aria-label", likes === undefined ? label : `${label}: ${exactly.format(likes!)}`);
        if (likes !== undefined) count.textContent = exactly.format(likes!);
        this.toggleAttribute("data-error", error !== undefined);
      };
      const press = async () => {
        const { state, error } = { error: undefined, ...(await plaudit.like(ref, !plaudit.shown(ref).own.like)) };
        if (state === "refused") this.dispatchEvent(new CustomEvent("plaudit-refused", { detail: error, bubbles: true }));
      };
      button.addEventListener("click", press);
      const end = plaudit.near(this, ref, show);
      this.#stop = () => {
        button.removeEventListener("click", press);
        end();
      };
      show();
    }
  }
  customElements.define(name, PlauditLike);
}

/** `note="post-1"` is the app's own key; `note="note_42"` and `note="note:post-1"` are written out. */
function refOf(element: Element): Ref | undefined {
  for (const type of ["note", "comment"]) {
    const value = element.getAttribute(type);
    if (value) return /^(note|comment)(_\d+$|:)/.test(value) ? value : `${type}:${value}`;
  }
  return undefined;
}

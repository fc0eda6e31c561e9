/** `<plaudit-like note="note_42">` and its kind: buttons and counts for pages without a framework. */

import { type Action, type Ref, type Type, TYPES, edgeOf, typeOf } from "./entities.js";
import { PlauditError } from "./errors.js";
import type { Plaudit } from "./plaudit.js";
import type { CountName } from "./versions.js";

declare global {
  interface HTMLElementTagNameMap extends PlauditElements {}
}

/** The elements by their names. */
export interface PlauditElements {
  "plaudit-like": HTMLElement;
  "plaudit-collect": HTMLElement;
  "plaudit-follow": HTMLElement;
  "plaudit-join": HTMLElement;
  "plaudit-count": HTMLElement;
}

/** Attributes of the elements. */
export interface PlauditAttributes extends Partial<Record<Type | `${Type}-key`, string>> {
  /** What screen readers say before the number; by default the button's own words, or "Like", "Collect" and so on. */
  label?: string;
  /** Of `<plaudit-count>`: which count it shows, such as `viewCount`; by default `likeCount`. */
  field?: string;
  /** What the page shows before the first answer: the count. */
  count?: number | string;
  /** The `countsVersion` of `count`. A lower one never replaces it. */
  version?: number | string;
  /** What the page shows before the first answer: whether the viewer has it on. */
  pressed?: boolean | "true" | "false";
}

const ACTIONS = ["like", "collect", "follow", "join"] as const;
const ATTRIBUTES = ["label", "field", "count", "version", "pressed", ...TYPES.flatMap((type) => [type, `${type}-key`])];

/**
 * Defines `<plaudit-like>`, `<plaudit-collect>`, `<plaudit-follow>`, `<plaudit-join>` and `<plaudit-count>`. An attribute
 * names the object: `note`, `comment`, `user` or `group` by its id, `note-key` and so on by the app's own key (a user's is
 * the subject). Each is live while it is near the screen.
 *
 * A button makes a `<button>` with `<span data-count>`, or takes those that it finds inside, such as those of the
 * server's HTML; a count writes into itself, or into what has `data-count`. When an action is refused and undone, the
 * event `plaudit-refused` has the error as its `detail`.
 */
export function definePlauditElements(plaudit: Plaudit): void {
  for (const action of ACTIONS) define(`plaudit-${action}`, plaudit, action);
  define("plaudit-count", plaudit);
}

function define(name: string, plaudit: Plaudit, action?: Action) {
  class PlauditElement extends HTMLElement {
    static observedAttributes = ATTRIBUTES;
    /** Ends what runs; undefined while it is in no page. */
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
      this.#stop = () => {};
      const ref = refOf(this);
      if (!ref) return;
      const edge = action && edgeOf(typeOf(ref), action);
      const field = edge?.count ?? ((this.getAttribute("field") ?? "likeCount") as CountName);
      receiveFirst(plaudit, this, ref, field, edge?.flag);
      const button = action && (this.querySelector("button") ?? this.appendChild(document.createElement("button")));
      const place = this.querySelector("[data-count]") ?? button?.appendChild(document.createElement("span")) ?? this;
      const show = () => {
        const { counts, own, error } = plaudit.shown(ref);
        const count = counts[field];
        const text = count === undefined ? undefined : count === null ? "–" : new Intl.NumberFormat().format(count);
        if (text) place.textContent = text;
        this.toggleAttribute("data-error", error !== undefined);
        if (!button) return;
        button.setAttribute("aria-pressed", String(own[action] ?? false));
        const hasWords = button.textContent!.trim() !== place.textContent!.trim();
        const label = this.getAttribute("label") ?? (hasWords ? "" : action[0]!.toUpperCase() + action.slice(1));
        if (label) button.setAttribute("aria-label", text ? `${label}: ${text}` : label);
      };
      const press = async () => {
        const outcome = await plaudit.act(action!, ref, !plaudit.shown(ref).own[action!]);
        if (outcome.state === "refused")
          this.dispatchEvent(new CustomEvent("plaudit-refused", { detail: outcome.error, bubbles: true }));
      };
      if (button) {
        place.setAttribute("data-count", "");
        button.type = "button";
        button.addEventListener("click", press);
      }
      const end = plaudit.near(this, ref, show);
      this.#stop = () => {
        button?.removeEventListener("click", press);
        end();
      };
      show();
    }
  }
  customElements.define(name, PlauditElement);
}

/** The object that the attributes name. A key that looks like an id stays a key. */
function refOf(element: Element): Ref | undefined {
  for (const type of TYPES) {
    const id = element.getAttribute(type);
    const key = element.getAttribute(`${type}-key`);
    if (id && !new RegExp(`^${type}_\\d+$`).test(id))
      throw new PlauditError("BAD_REF", `${type}="${id}" is no id, as ${type}_42; your own key goes into ${type}-key`);
    if (id) return id;
    if (key) return `${type}:${key}`;
  }
  return undefined;
}

/** Takes in what the page's HTML has. The viewer's state has no version, so it counts only where nothing is known. */
function receiveFirst(plaudit: Plaudit, element: Element, ref: Ref, field: CountName, flag: string | undefined) {
  const [count, version, pressed] = ["count", "version", "pressed"].map((name) => element.getAttribute(name));
  if (!count && pressed == null) return;
  const { id, countsVersion } = plaudit.shown(ref);
  plaudit.receive(
    {
      id,
      countsVersion: Number(version) || 0,
      ...(count && { [field]: Number(count) || 0 }),
      ...(flag && pressed != null && countsVersion === undefined && { [flag]: pressed !== "false" }),
    },
    ref,
  );
}

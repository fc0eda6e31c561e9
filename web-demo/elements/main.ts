/** The page of elements: all that a page without a framework writes. */

import { createPlaudit } from "plaudit-client";
import { definePlauditElements } from "plaudit-client/element";

const plaudit = createPlaudit({
  url: "/graphql",
  // An app's own server gives the token of who is signed in.
  token: async () => (await (await fetch("/dev/token")).json()).token,
});
definePlauditElements(plaudit);

addEventListener("plaudit-refused", (event) => {
  document.querySelector("#notice")!.textContent = (event as CustomEvent<Error>).detail.message;
});

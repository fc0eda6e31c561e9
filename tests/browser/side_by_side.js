// Helpers for the page with two users side by side, and for storms.

/** One side of `/two`: the methods of a visitor, limited to that side. */
export function sideOf(visitor, name) {
  const side = Object.create(visitor);
  side.page = visitor.page.getByRole("region", { name: new RegExp(`^${name} side`) });
  return side;
}

/** Opens `/two` and waits until both sides show the feed and are live. */
export async function openSideBySide(visitor) {
  await visitor.goTo("/two");
  const [left, right] = [sideOf(visitor, "Left"), sideOf(visitor, "Right")];
  await Promise.all([left.waitUntilLive(), right.waitUntilLive(), left.notes(), right.notes()]);
  return { left, right };
}

/** The measured delays of `/two`: a bar for each action, and the last delay in milliseconds. */
export function delays(visitor) {
  const panel = visitor.page.getByRole("region", { name: "Delay" });
  return {
    waitForActions: (count) => panel.locator("rect").nth(count - 1).waitFor(),
    last: async () => Number(/^(\d+) ms$/.exec(await panel.getByRole("status").innerText())?.[1]),
  };
}

/** Answers 404 for `/dev/*`, as a production server does: it issues no tokens. */
export async function disableDevelopmentRoutes(visitor) {
  await visitor.context.route("**/dev/*", (route) => route.fulfill({ status: 404 }));
}

/** Ignores console errors about status 404 of `/dev/*`, which these tests expect. */
export function ignoreNotFoundErrors(visitor) {
  const notFound = /status of 404 .*\/dev\//;
  visitor.problems.splice(0, Infinity, ...visitor.problems.filter((problem) => !notFound.test(problem)));
}

/** Limits the storms that this page starts to one note and few users, so that other tests' counts do not change. */
export async function limitStorms(visitor, noteId, seconds) {
  await visitor.context.route("**/dev/storm", (route) =>
    route.continue({ postData: JSON.stringify({ users: 20, seconds: seconds.shift(), noteIds: [noteId] }) }),
  );
}

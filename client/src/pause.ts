/** Waiting, with bounds and chance. */

const FIRST_MS = 250;
const LONGEST_MS = 10_000;
/** After an error that only somebody else can mend, such as a wrong address. */
const HOPELESS_MS = 60_000;

/** Grows with the attempts. Chance keeps pages that lost a server at once from coming back at once. */
export const growing = (attempt: number) => Math.min(FIRST_MS * 2 ** attempt, LONGEST_MS) * (0.5 + Math.random() / 2);

export const hopeless = () => HOPELESS_MS * (0.75 + Math.random() / 2);

export const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** A wait that can be ended before its time. */
export function createPause() {
  let end = () => {};
  return {
    wait: (ms: number) =>
      new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        end = () => {
          clearTimeout(timer);
          resolve();
        };
      }),
    end: () => end(),
  };
}

const format = new Intl.DateTimeFormat("en", { dateStyle: "long", timeStyle: "short" });

/** A time in words. */
export const when = (at: string) => format.format(new Date(at));

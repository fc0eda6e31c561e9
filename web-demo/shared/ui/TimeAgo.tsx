const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "narrow" });
const day = new Intl.DateTimeFormat("en", { day: "numeric", month: "short" });
const whole = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });

/** Each unit, its length in seconds, and the age in seconds below which it is used. */
const UNITS: [Intl.RelativeTimeFormatUnit, number, number][] = [
  ["minute", 60, 3600],
  ["hour", 3600, 86_400],
  ["day", 86_400, 7 * 86_400],
];

/** A relative time; hover shows the absolute one. */
export function TimeAgo({ at }: { at: string }) {
  const moment = new Date(at);
  return (
    <time dateTime={at} title={whole.format(moment)}>
      {ago(moment)}
    </time>
  );
}

function ago(moment: Date): string {
  const seconds = (Date.now() - moment.getTime()) / 1000;
  if (seconds < 60) return "now";
  const unit = UNITS.find(([, , below]) => seconds < below);
  return unit ? relative.format(-Math.floor(seconds / unit[1]), unit[0]) : day.format(moment);
}

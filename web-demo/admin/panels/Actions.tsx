import { type Readings } from "../metrics/readings";
import { useReadings } from "../metrics/useMonitor";
import { Card } from "../ui/Card";
import { Tip } from "../ui/Tip";
import { Value } from "../ui/Value";
import { perSecond } from "../ui/format";
import { ABOUT } from "./explained";
import styles from "./panels.module.css";

/** Actions per second by kind, in a fixed order. */
export function Actions() {
  const now = useReadings();
  return (
    <Card title="Actions" aside={<Tip of={ABOUT.action} />}>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">Kind</th>
            <th scope="col">Done</th>
            <th scope="col">Undone</th>
          </tr>
        </thead>
        <tbody>
          {kindsOfActions(now).map((kind) => (
            <tr key={kind}>
              <th scope="row">{kind.replaceAll("_", " ")}</th>
              {["on", "off"].map((change) => (
                <td key={change}>
                  <Value value={now.rate("plaudit_actions_total", { kind, change })} format={perSecond("/s")} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}

const ALWAYS = ["like_note", "like_comment", "collect_note", "follow", "add_comment", "create_note", "join_group", "record_views"];

/** Actions of users always; those of services and moderators once one occurred. */
function kindsOfActions(now: Readings): string[] {
  const kinds = now.values("plaudit_actions_total", "kind");
  const others = kinds.filter((kind) => !ALWAYS.includes(kind) && now.value("plaudit_actions_total", { kind })! > 0);
  return [...ALWAYS.filter((kind) => kinds.includes(kind)), ...others];
}

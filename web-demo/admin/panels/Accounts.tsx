import { type Readings } from "../metrics/readings";
import { useReadings } from "../metrics/useMonitor";
import { Card } from "../ui/Card";
import { Tip } from "../ui/Tip";
import { ABOUT } from "./explained";
import styles from "./panels.module.css";

const CLASSES = ["reads", "writes", "creations"] as const;

interface Account {
  kind: string;
  account: string;
}

/** The users and addresses that have used most of their limits, without their names. */
export function Accounts() {
  const now = useReadings();
  const accounts = byGreatestPart(now);
  return (
    <Card title="Busiest accounts" span={3}>
      <div className={styles.scroll} tabIndex={0} role="region" aria-label="Busiest accounts, table">
        <table className={styles.table}>
          <thead>
            <tr>
              <th scope="col">
                Account <Tip of={ABOUT.account} />
              </th>
              {CLASSES.map((name) => (
                <th key={name} scope="col">
                  {name[0]!.toUpperCase() + name.slice(1)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {accounts.map((account) => (
              <tr key={`${account.kind} ${account.account}`}>
                <th scope="row">
                  {account.kind} <span className={styles.soft}>{account.account}</span>
                </th>
                {CLASSES.map((name) => (
                  <td key={name}>{used(now, account, name)}</td>
                ))}
              </tr>
            ))}
            {accounts.length === 0 && (
              <tr>
                <td colSpan={4}>Nobody has used a fiftieth of a limit.</td>
              </tr>
            )}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

/** Such as `2,900 of 3,000`; a dash without a limit. */
function used(now: Readings, { kind, account }: Account, name: string): string {
  const labels = { kind, account, class: name };
  const limit = now.value("plaudit_account_limit", labels);
  const value = now.value("plaudit_account_used", labels);
  return limit === undefined || value === undefined ? "–" : `${whole(value)} of ${whole(limit)}`;
}

const whole = (value: number) => value.toLocaleString("en");

function byGreatestPart(now: Readings): Account[] {
  const part = ({ kind, account }: Account) =>
    Math.max(
      ...CLASSES.map((name) => {
        const labels = { kind, account, class: name };
        return (now.value("plaudit_account_used", labels) ?? 0) / (now.value("plaudit_account_limit", labels) ?? Infinity);
      }),
    );
  return now
    .values("plaudit_account_used", "kind")
    .flatMap((kind) => now.values("plaudit_account_used", "account", { kind }).map((account) => ({ kind, account })))
    .sort((a, b) => part(b) - part(a));
}

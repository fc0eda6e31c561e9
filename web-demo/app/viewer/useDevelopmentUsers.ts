import { useEffect, useState } from "react";
import { type Role, developmentUsers } from "../../shared/session";

type User = { subject: string; role: Role };

/** Asked for once per visit. */
let asked: Promise<User[]> | undefined;
let known: User[] = [];

/** Whom a development server offers to be; nobody until it has answered, and with any other server. */
export function useDevelopmentUsers(): User[] {
  const [users, setUsers] = useState(known);
  useEffect(() => {
    asked ??= developmentUsers();
    asked.then((all) => setUsers((known = all)));
  }, []);
  return users;
}

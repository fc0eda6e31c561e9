import { useEffect, useState } from "react";
import { type Role, developmentUsers } from "../../shared/session";

type User = { subject: string; role: Role };

/** One request per visit. */
let asked: Promise<User[]> | undefined;
let known: User[] = [];

/** The users that a development server offers; empty until it has answered, and in production. */
export function useDevelopmentUsers(): User[] {
  const [users, setUsers] = useState(known);
  useEffect(() => {
    asked ??= developmentUsers();
    asked.then((all) => setUsers((known = all)));
  }, []);
  return users;
}

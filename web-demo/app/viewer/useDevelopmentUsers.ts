import { useEffect, useState } from "react";
import { type Role, developmentUsers } from "../../shared/session";

type User = { subject: string; role: Role };

/** The only request of a visit. */
let request: Promise<User[]> | undefined;
let cachedUsers: User[] = [];

/** The users that a development server offers; empty until it has answered, and in production. */
export function useDevelopmentUsers(): User[] {
  const [users, setUsers] = useState(cachedUsers);
  useEffect(() => {
    request ??= developmentUsers();
    request.then((all) => setUsers((cachedUsers = all)));
  }, []);
  return users;
}

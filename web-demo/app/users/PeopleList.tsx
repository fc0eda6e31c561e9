import { type ComponentProps, type ReactNode } from "react";
import { type PersonRowFragment } from "../../shared/api/generated";
import { LiveList } from "../lists/LiveList";
import { PersonRow } from "./PersonRow";
import { UserListener } from "./live";
import { useViewerId } from "../viewer/useViewerId";

interface Props {
  people: PersonRowFragment[];
  /** Buttons beside a user, if the viewer may manage the list. */
  tools?: (user: PersonRowFragment) => ReactNode;
  endless: ComponentProps<typeof LiveList>["endless"];
  /** Shown when the list is empty. */
  children: ReactNode;
}

/** Users, each with a follow button. */
export function PeopleList({ people, tools, endless, children }: Props) {
  const viewerId = useViewerId();
  return (
    <LiveList items={people} endless={endless} Listener={UserListener} empty={children}>
      {(user) => <PersonRow user={user} isSelf={user.id === viewerId} tools={tools} />}
    </LiveList>
  );
}

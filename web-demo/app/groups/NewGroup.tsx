import { useState } from "react";
import { useLocation } from "wouter";
import { CreateGroupDocument, JoinGroupDocument } from "../../shared/api/generated";
import { useAction } from "../../shared/api/useAction";
import { GroupDialog } from "./GroupDialog";
import { freshKey } from "./freshKey";

/** A dialog that creates a group, joins it (creating does not) and opens its page. */
export function NewGroup({ onClose }: { onClose: () => void }) {
  const [key] = useState(freshKey);
  const [, go] = useLocation();
  const create = useAction(CreateGroupDocument);
  const join = useAction(JoinGroupDocument);

  async function send(texts: { name: string; description: string }): Promise<boolean> {
    const { data } = await create({ ...texts, key });
    const groupId = data?.createGroup?.group.id;
    if (!groupId) return false;
    await join({ groupId });
    go(`/group/${groupId}`);
    return true;
  }

  return <GroupDialog title="New group" action={["Create", "Creating…"]} onSend={send} onClose={onClose} />;
}

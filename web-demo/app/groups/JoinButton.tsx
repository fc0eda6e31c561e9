import { type GroupRowFragment, JoinGroupDocument, LeaveGroupDocument } from "../../shared/api/generated";
import { SwitchButton } from "../controls/SwitchButton";
import { useAction } from "../../shared/api/useAction";

interface Props {
  group: Pick<GroupRowFragment, "id" | "name" | "viewerIsMember">;
  isMain?: boolean;
}

export function JoinButton({ group, isMain }: Props) {
  const join = useAction(JoinGroupDocument);
  const leave = useAction(LeaveGroupDocument);
  return (
    <SwitchButton
      name={group.name}
      off="Join"
      on="Joined"
      undo="Leave"
      isMain={isMain}
      isOn={group.viewerIsMember}
      onToggle={(on) => (on ? join : leave)({ groupId: group.id })}
    />
  );
}

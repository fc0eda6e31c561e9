import { UserRoundX } from "lucide-react";
import { useState } from "react";
import { type PersonRowFragment, RemoveGroupMemberDocument } from "../../shared/api/generated";
import { useAction } from "../../shared/api/useAction";
import { Confirm } from "../../shared/ui/Confirm";
import { IconButton } from "../controls/IconButton";
import styles from "../controls/IconButton.module.css";

/** The owner's button beside a member: takes the member out of the group. */
export function MemberTools({ groupId, user }: { groupId: string; user: PersonRowFragment }) {
  const remove = useAction(RemoveGroupMemberDocument);
  const [isConfirming, setConfirming] = useState(false);
  return (
    <div className={styles.row}>
      <IconButton
        icon={UserRoundX}
        label={`Remove ${user.name} from the group`}
        isDangerous
        onClick={() => setConfirming(true)}
      />
      {isConfirming && (
        <Confirm
          title={`Remove ${user.name}?`}
          text="They leave the group, and can join again. Their notes stay in it."
          action="Remove"
          onYes={() => remove({ groupId, userId: user.id })}
          onClose={() => setConfirming(false)}
        />
      )}
    </div>
  );
}

import { FollowUserDocument, type PersonRowFragment, UnfollowUserDocument } from "../../shared/api/generated";
import { SwitchButton } from "../controls/SwitchButton";
import { useAction } from "../../shared/api/useAction";

interface Props {
  user: Pick<PersonRowFragment, "id" | "name" | "viewerIsFollowing">;
  isMain?: boolean;
}

export function FollowButton({ user, isMain }: Props) {
  const follow = useAction(FollowUserDocument);
  const unfollow = useAction(UnfollowUserDocument);
  return (
    <SwitchButton
      name={user.name}
      off="Follow"
      on="Following"
      undo="Unfollow"
      isMain={isMain}
      isOn={user.viewerIsFollowing}
      onToggle={(on) => (on ? follow : unfollow)({ userId: user.id })}
    />
  );
}

import { type ComponentProps, type ReactNode } from "react";
import { type NoteCardFragment } from "../../shared/api/generated";
import { Endless } from "../layout/Endless";
import { groups } from "../layout/groups";
import { NoteCard } from "./NoteCard";
import { LiveNotes } from "./live";

/** Notes that share a subscription; it runs while one of them is near the screen. */
const GROUP = 10;

interface Props {
  notes: NoteCardFragment[];
  endless: Omit<ComponentProps<typeof Endless>, "children">;
  /** What stands there when there are none. */
  children: ReactNode;
}

/** Cards whose numbers are live, for as long as one scrolls. */
export function NoteList({ notes, endless, children }: Props) {
  const isEmpty = notes.length === 0 && !endless.isLoading && !endless.error;
  return (
    <Endless {...endless}>
      {isEmpty && children}
      {groups(notes, GROUP).map((group) => (
        <LiveNotes key={group[0]!.id} noteIds={group.map(({ id }) => id)}>
          {group.map((note) => (
            <NoteCard key={note.id} note={note} />
          ))}
        </LiveNotes>
      ))}
    </Endless>
  );
}

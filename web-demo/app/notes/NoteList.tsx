import { type ComponentProps, type ReactNode } from "react";
import { type NoteCardFragment } from "../../shared/api/generated";
import { Endless } from "../../shared/lists/Endless";
import { chunks } from "../lists/chunks";
import { NoteCard } from "./NoteCard";
import { LiveNotes } from "./live";

interface Props {
  notes: NoteCardFragment[];
  /** Buttons on a note, if the viewer may manage the list. */
  tools?: (note: NoteCardFragment) => ReactNode;
  endless: Omit<ComponentProps<typeof Endless>, "children">;
  /** Shown when the list is empty. */
  children: ReactNode;
}

/** An endless list of cards with live counts. */
export function NoteList({ notes, tools, endless, children }: Props) {
  const isEmpty = notes.length === 0 && !endless.isLoading && !endless.error;
  return (
    <Endless {...endless}>
      {isEmpty && children}
      {chunks(notes).map((group) => (
        <LiveNotes key={group[0]!.id} noteIds={group.map(({ id }) => id)}>
          {group.map((note) => (
            <NoteCard key={note.id} note={note} tools={tools} />
          ))}
        </LiveNotes>
      ))}
    </Endless>
  );
}

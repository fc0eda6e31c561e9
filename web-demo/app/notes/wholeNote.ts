import { type NotePageQuery } from "../../shared/api/generated";

/** A note with every field that its page shows. */
export type WholeNote = NonNullable<NotePageQuery["note"]>;

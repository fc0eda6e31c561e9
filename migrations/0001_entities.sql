-- Entities: users, groups, notes and comments, with their texts.
--
-- Ids come from sequences: they rise with creation and stay below 2^53. A removal sets `removed_at` and keeps the
-- row, so that events that arrive later find it.
-- Indexes end with the column by which a list is paged, in the list's order, so that a page reads as many entries
-- as it shows. If a list omits rows, its index is partial and does not contain them.
-- `created_at` is when the app's user wrote it, also if that was before it came here. It never changes: lists that are
-- newest first, and what goes through them in pages, are ordered by `(created_at, id)`.
-- Foreign keys exist only between entities, whose rows are written one at a time by requests. Tables that batches
-- write have none: a check per row would cost more than the row.

CREATE TABLE app_user (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The `sub` claim of the user's tokens. Null once the user was erased: then the row has no personal data, and only
    -- keeps the id.
    subject     text CHECK (octet_length(subject) BETWEEN 1 AND 255),
    name        text NOT NULL,
    -- An https address. Null for none.
    avatar_url  text,
    -- Of when name and picture are: 'infinity' if the user or a service has set them; the `iat` of the token that they
    -- are from; '-infinity' if nobody named the user. A token changes them only if its `iat` is later.
    profile_as_of  timestamptz NOT NULL DEFAULT 'infinity',
    created_at  timestamptz NOT NULL DEFAULT now(),
    removed_at  timestamptz,
    -- Nothing of a hidden user counts or is shown to others until the user is restored.
    hidden_at   timestamptz,
    -- Actions of the user are refused until then; null once it was lifted. The reason is for the user.
    suspended_until    timestamptz,
    suspension_reason  text,
    CONSTRAINT app_user_subject_unique UNIQUE (subject),
    CONSTRAINT app_user_subject_until_erased CHECK ((subject IS NULL) = (removed_at IS NOT NULL))
);

-- Users by the beginning of their name, for mentions. The collation compares bytes, so that names with one beginning are
-- one range.
CREATE INDEX app_user_by_name ON app_user (lower(name) COLLATE "C", id)
    WHERE removed_at IS NULL AND hidden_at IS NULL;

-- Whom everybody sees: a batch asks whether all of its users are, without reading their rows.
CREATE INDEX app_user_visible ON app_user (id) WHERE removed_at IS NULL AND hidden_at IS NULL;

CREATE TABLE app_group (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The app's own id of it, set by services. It never changes; the key of a removed group stays taken.
    key          text CHECK (octet_length(key) BETWEEN 1 AND 200),
    -- The creator. Members are edges: the creator is a member only after joining.
    owner_id     bigint NOT NULL REFERENCES app_user (id),
    name         text NOT NULL,
    description  text NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    -- When name or description were changed last.
    edited_at    timestamptz,
    -- Members and notes leave a removed group in the background.
    removed_at   timestamptz
);

CREATE UNIQUE INDEX app_group_by_key ON app_group (key) WHERE key IS NOT NULL;
-- Groups of an owner, for exports.
CREATE INDEX app_group_by_owner ON app_group (owner_id, id);
CREATE INDEX app_group_newest ON app_group (created_at DESC, id DESC) WHERE removed_at IS NULL;
-- Texts of removed groups that are still kept: to empty them, by age.
CREATE INDEX app_group_text_of_removed ON app_group (removed_at)
    WHERE removed_at IS NOT NULL AND (name <> '' OR description <> '');

CREATE TABLE note (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- As `app_group.key`.
    key          text CHECK (octet_length(key) BETWEEN 1 AND 200),
    author_id    bigint NOT NULL REFERENCES app_user (id),
    -- The app's page about it, set by services. Null for none.
    url          text,
    title        text NOT NULL,
    body         text NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    -- When title or body were changed last.
    edited_at    timestamptz,
    removed_at   timestamptz,
    -- The group in which the note is; null for none. A note leaves its group when it is taken out, or the group is removed.
    group_id     bigint REFERENCES app_group (id),
    -- When it was featured in its group.
    featured_at  timestamptz,
    -- Until a note is approved, only its author and moderators see it, and nobody can act on it. It is approved from the
    -- start unless the setting `moderate_notes` is on, and stays approved: an edit waits in `edit`.
    state        text NOT NULL DEFAULT 'approved'
        CONSTRAINT note_state_known CHECK (state IN ('pending', 'approved', 'rejected')),
    -- It is approved and its author is hidden.
    is_hidden    boolean NOT NULL DEFAULT false,
    -- Whether everybody may see it. Only then it counts for its author and group, and what it received counts for its
    -- author; what others do on it counts for the note also while it is hidden.
    is_shown     boolean NOT NULL
        GENERATED ALWAYS AS (state = 'approved' AND removed_at IS NULL AND NOT is_hidden) STORED,
    -- The transaction that wrote or approved it: ids are taken before transactions commit, so a note with a lower id may
    -- appear later. What is below `pg_snapshot_xmin` of a snapshot is complete. Null if it was no news when it was written.
    shown_xact   bigint DEFAULT pg_current_xact_id()::text::bigint,
    CONSTRAINT note_featured_in_group CHECK (featured_at IS NULL OR group_id IS NOT NULL),
    CONSTRAINT note_hidden_if_approved CHECK (NOT is_hidden OR state = 'approved')
);

CREATE UNIQUE INDEX note_by_key ON note (key) WHERE key IS NOT NULL;
-- The feed, notes of a user and of a group: newest first. Hidings and exports go through the notes of a user from the other
-- end: an index of their own, by id, would cost every note an entry.
CREATE INDEX note_feed ON note (created_at DESC, id DESC) WHERE is_shown;
-- What everybody sees: a batch asks whether all of its notes are, without reading their rows.
CREATE INDEX note_shown ON note (id) WHERE is_shown;
-- Notes that are new since a position of `feedChanged`.
CREATE INDEX note_by_appearance ON note (shown_xact DESC, id DESC) WHERE is_shown AND shown_xact IS NOT NULL;
CREATE INDEX note_by_author ON note (author_id, created_at DESC, id DESC) WHERE is_shown;
CREATE INDEX note_of_group ON note (group_id, created_at DESC, id DESC) WHERE is_shown AND group_id IS NOT NULL;
-- The notes of a group that are not public: they leave it, too, when it is removed.
CREATE INDEX note_unpublished_of_group ON note (group_id)
    WHERE NOT is_shown AND removed_at IS NULL AND group_id IS NOT NULL;
-- Texts of removed notes that are still kept: to empty them, by age and by author.
CREATE INDEX note_text_of_removed ON note (removed_at) WHERE removed_at IS NOT NULL AND (title <> '' OR body <> '');
CREATE INDEX note_text_of_removed_by_author ON note (author_id)
    WHERE removed_at IS NOT NULL AND (title <> '' OR body <> '');
-- Notes of an author that only the author and moderators see: not approved, or hidden.
CREATE INDEX note_unpublished_by_author ON note (author_id, created_at DESC, id DESC)
    WHERE NOT is_shown AND removed_at IS NULL;

-- A note from more than an hour ago, such as an imported one, is no news: it has its place in the lists, and `feedChanged`
-- does not name it. Decided when it is written, so that a million of them cost those who wait for news nothing.
CREATE FUNCTION withhold_old_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.shown_xact := NULL;
    RETURN NEW;
END $$;

CREATE TRIGGER old_note_withheld BEFORE INSERT ON note FOR EACH ROW
    WHEN (NEW.created_at < now() - interval '1 hour' AND NEW.shown_xact IS NOT NULL)
    EXECUTE FUNCTION withhold_old_note();

-- Comments and replies without their text, so that paging reads narrow rows. There are two levels: comments on a
-- note, and replies below a comment.
CREATE TABLE comment_index (
    id                 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- As `app_group.key`.
    key                text CHECK (octet_length(key) BETWEEN 1 AND 200),
    note_id            bigint NOT NULL REFERENCES note (id),
    author_id          bigint NOT NULL REFERENCES app_user (id),
    -- The comment below which a reply stands; null for a comment on the note.
    parent_id          bigint REFERENCES comment_index (id),
    created_at         timestamptz NOT NULL DEFAULT now(),
    -- When its text was changed last after everybody could see it.
    edited_at          timestamptz,
    removed_at         timestamptz,
    -- The reply that this reply answers; null when it answers `parent_id`.
    reply_to_id        bigint REFERENCES comment_index (id),
    -- Until a comment is approved, only its author and moderators see it, and totals do not include it.
    state              text NOT NULL DEFAULT 'pending'
        CONSTRAINT comment_index_state_known CHECK (state IN ('pending', 'approved', 'rejected')),
    -- A removed or hidden comment with replies: it stays in lists, without its text.
    is_placeholder     boolean NOT NULL DEFAULT false,
    -- Its author is hidden.
    is_hidden          boolean NOT NULL DEFAULT false,
    -- The note's author is hidden.
    note_is_hidden     boolean NOT NULL DEFAULT false,
    -- Whether it counts for its note and its parent. It counts for its author if the note is not hidden, either.
    is_counted         boolean NOT NULL
        GENERATED ALWAYS AS (state = 'approved' AND removed_at IS NULL AND NOT is_hidden) STORED,
    -- Whether it is in lists that everybody sees.
    is_listed          boolean NOT NULL
        GENERATED ALWAYS AS (state = 'approved' AND removed_at IS NULL AND NOT is_hidden OR is_placeholder) STORED,
    hot_score          bigint NOT NULL DEFAULT 0,
    -- The author's rating of the note at the time of writing; null without one.
    rating_at_writing  smallint
        CONSTRAINT comment_index_rating_in_range CHECK (rating_at_writing BETWEEN 0 AND 10)
);

-- Ten times the likes weigh as much as 12.5 hours, and a reply as much as two likes, so that a young comment passes
-- an older one with more likes. In milliseconds: a whole number, which cursors hold exactly.
-- After "How Reddit ranking algorithms work", Amir Salihefendic, 2010.
CREATE FUNCTION comment_hot_score(likes bigint, replies bigint, created_at timestamptz) RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT (extract(epoch FROM created_at) * 1000
            + 45000000 * log(greatest(likes + 2 * replies, 1)::double precision))::bigint
$$;

CREATE UNIQUE INDEX comment_by_key ON comment_index (key) WHERE key IS NOT NULL;
-- Comments of a note and replies of a comment, hottest first and newest first.
CREATE INDEX comment_top_by_heat ON comment_index (note_id, hot_score DESC, id DESC)
    WHERE parent_id IS NULL AND is_listed;
CREATE INDEX comment_top_by_age ON comment_index (note_id, created_at DESC, id DESC)
    WHERE parent_id IS NULL AND is_listed;
CREATE INDEX comment_reply_by_heat ON comment_index (parent_id, hot_score DESC, id DESC)
    WHERE parent_id IS NOT NULL AND is_listed;
CREATE INDEX comment_reply_by_age ON comment_index (parent_id, created_at DESC, id DESC)
    WHERE parent_id IS NOT NULL AND is_listed;
-- An author's comments on a note that only the author sees.
CREATE INDEX comment_unpublished ON comment_index (author_id, note_id, created_at DESC, id DESC)
    WHERE NOT is_counted AND removed_at IS NULL;
-- All comments of an author that only the author sees.
CREATE INDEX comment_unpublished_of_author ON comment_index (author_id, created_at DESC, id DESC)
    WHERE NOT is_counted AND removed_at IS NULL;
-- Comments that are removed together with their note.
CREATE INDEX comment_of_note ON comment_index (note_id, id) WHERE removed_at IS NULL OR is_placeholder;
-- For recounts, and for hiding, of a user's comments. Not partial: before its first ANALYZE PostgreSQL estimates a partial index on
-- approved comments as nearly empty, and reads all of it to find the comments of a note.
CREATE INDEX comment_by_author ON comment_index (author_id, id);

CREATE TABLE comment_body (
    id        bigint PRIMARY KEY REFERENCES comment_index (id),
    body      text NOT NULL,
    images    text[] NOT NULL DEFAULT '{}',
    mentions  bigint[] NOT NULL DEFAULT '{}'
);

-- The last change of what everybody sees of a comment: it appeared, was edited, became a placeholder, or went. `position`
-- is taken from the note's `comment_position` (0002_counts.sql), so positions of one note rise in the order of commits.
-- A table of its own, because a like rewrites the row of `comment_index`, with all its indexes.
CREATE TABLE comment_change (
    comment_id  bigint PRIMARY KEY REFERENCES comment_index (id),
    note_id     bigint NOT NULL,
    position    bigint NOT NULL
);

CREATE INDEX comment_change_of_note ON comment_change (note_id, position DESC);

-- Totals: one wide row per entity, created with the entity. Columns are named as in src/catalogue/counters.rs.
-- A total changes only in a transaction that also changes its rows, or what it carries.
--
-- fillfactor 70: totals change all the time and no index covers them, so that updates stay HOT (they write the row
-- alone, and no index) as long as its page has room.
-- No foreign keys: batches move totals of thousands of entities, and reconciliation finds a row without an entity.

CREATE TABLE user_counts (
    id                 bigint PRIMARY KEY,
    following          bigint NOT NULL DEFAULT 0,
    followers          bigint NOT NULL DEFAULT 0,
    notes              bigint NOT NULL DEFAULT 0,
    comments           bigint NOT NULL DEFAULT 0,
    likes_received     bigint NOT NULL DEFAULT 0,
    collects_received  bigint NOT NULL DEFAULT 0,
    groups             bigint NOT NULL DEFAULT 0,
    coins              bigint NOT NULL DEFAULT 0,
    CONSTRAINT user_counts_coins_never_below_zero CHECK (coins >= 0)
) WITH (fillfactor = 70);

-- `heat_step` orders notes by their heat since ever. It is coarse on purpose: an index on the heat itself would make
-- every like write to all indexes of the row, while a step changes seldom, so that nearly all updates stay HOT. A
-- step is about as wide as random differences of counts: 1, 2-4, 5-7, …, 968-1012 for a heat of about 1,000. Within
-- the last step that is read, the hottest are looked up among its newest notes.
-- The formula of heat is in src/catalogue/heat.rs (a unit test compares the two). It is below zero only while a count
-- drifts.
CREATE TABLE note_counts (
    id          bigint PRIMARY KEY,
    likes       bigint NOT NULL DEFAULT 0,
    collects    bigint NOT NULL DEFAULT 0,
    comments    bigint NOT NULL DEFAULT 0,
    views       bigint NOT NULL DEFAULT 0,
    ratings     bigint NOT NULL DEFAULT 0,
    rating_sum  bigint NOT NULL DEFAULT 0,
    -- Position of the last row of `comment_change`; no count that is shown.
    comment_position  bigint NOT NULL DEFAULT 0,
    -- Author and group of the note, for the indexes below; the group goes when the note leaves it. The author is null only
    -- in a row without a note.
    author_id   bigint,
    group_id    bigint,
    heat_step   integer NOT NULL
        GENERATED ALWAYS AS (floor(sqrt(2 * greatest((likes + 2 * collects), 0)::float8))::integer) STORED
) WITH (fillfactor = 70);

-- Notes by heat since ever, the newest first within a step.
CREATE INDEX note_counts_by_heat ON note_counts (heat_step DESC, id DESC);

-- The same for the notes of an author and of a group. Like the index above they are written only when a note enters
-- another step.
CREATE INDEX note_counts_of_author_by_heat ON note_counts (author_id, heat_step DESC, id DESC);
CREATE INDEX note_counts_of_group_by_heat ON note_counts (group_id, heat_step DESC, id DESC)
    WHERE group_id IS NOT NULL;

CREATE TABLE comment_counts (
    id       bigint PRIMARY KEY,
    likes    bigint NOT NULL DEFAULT 0,
    replies  bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70);

CREATE TABLE group_counts (
    id              bigint PRIMARY KEY,
    members         bigint NOT NULL DEFAULT 0,
    notes           bigint NOT NULL DEFAULT 0,
    featured_notes  bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70);

-- The largest groups.
CREATE INDEX group_counts_by_members ON group_counts (members DESC, id DESC);

-- What totals include that has no rows: the views, likes, collects of notes and the followers of users from before an app
-- kept records of them. An import sets a number in the transaction that moves the totals. Likes and collects also count for
-- the note's author, as those with rows do. No foreign keys: removed entities keep their rows.
CREATE TABLE carried_total (
    kind     text NOT NULL,    -- of the entity: note, user
    id       bigint NOT NULL,
    counter  text NOT NULL,    -- as the column of the total
    value    bigint NOT NULL,
    PRIMARY KEY (kind, id, counter),
    CONSTRAINT carried_total_in_range CHECK (value BETWEEN 0 AND 1000000000000)
);

-- Unread events by badge. Per badge also: the position up to which the owner has read entries, which only rises; and
-- the unread events of entries that retention has deleted. Both change only while the row is locked.
CREATE TABLE inbox_counts (
    id                  bigint PRIMARY KEY,
    replies             bigint NOT NULL DEFAULT 0,
    likes               bigint NOT NULL DEFAULT 0,
    followers           bigint NOT NULL DEFAULT 0,
    messages            bigint NOT NULL DEFAULT 0,
    replies_read_to     bigint NOT NULL DEFAULT 0,
    likes_read_to       bigint NOT NULL DEFAULT 0,
    followers_read_to   bigint NOT NULL DEFAULT 0,
    messages_read_to    bigint NOT NULL DEFAULT 0,
    replies_unlisted    bigint NOT NULL DEFAULT 0,
    likes_unlisted      bigint NOT NULL DEFAULT 0,
    followers_unlisted  bigint NOT NULL DEFAULT 0,
    messages_unlisted   bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70);

-- Triggers create the rows, so that no code path can forget them.
CREATE FUNCTION create_counts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('INSERT INTO %I (id) SELECT id FROM born ON CONFLICT DO NOTHING', TG_ARGV[0]);
    RETURN NULL;
END $$;

CREATE FUNCTION create_note_counts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO note_counts (id, author_id, group_id) SELECT id, author_id, group_id FROM born ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

CREATE TRIGGER user_counts_created AFTER INSERT ON app_user
    REFERENCING NEW TABLE AS born FOR EACH STATEMENT EXECUTE FUNCTION create_counts('user_counts');
CREATE TRIGGER inbox_counts_created AFTER INSERT ON app_user
    REFERENCING NEW TABLE AS born FOR EACH STATEMENT EXECUTE FUNCTION create_counts('inbox_counts');
CREATE TRIGGER note_counts_created AFTER INSERT ON note
    REFERENCING NEW TABLE AS born FOR EACH STATEMENT EXECUTE FUNCTION create_note_counts();
CREATE TRIGGER comment_counts_created AFTER INSERT ON comment_index
    REFERENCING NEW TABLE AS born FOR EACH STATEMENT EXECUTE FUNCTION create_counts('comment_counts');
CREATE TRIGGER group_counts_created AFTER INSERT ON app_group
    REFERENCING NEW TABLE AS born FOR EACH STATEMENT EXECUTE FUNCTION create_counts('group_counts');

-- The list of a group by heat has the notes that are in the group.
CREATE FUNCTION follow_group_of_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE note_counts SET group_id = NEW.group_id WHERE id = NEW.id;
    RETURN NULL;
END $$;

CREATE TRIGGER note_group_followed AFTER UPDATE OF group_id ON note FOR EACH ROW
    WHEN (OLD.group_id IS DISTINCT FROM NEW.group_id) EXECUTE FUNCTION follow_group_of_note();

-- Numbers each change of what everybody sees of a comment, so that no code path can forget one. Lock the totals of the
-- note before rows of comments. The comments of a removed note go with it: nobody can watch them.
CREATE FUNCTION number_comment_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    next bigint;
BEGIN
    IF EXISTS (SELECT FROM note WHERE id = NEW.note_id AND removed_at IS NOT NULL) THEN
        RETURN NULL;
    END IF;
    UPDATE note_counts SET comment_position = comment_position + 1 WHERE id = NEW.note_id
        RETURNING comment_position INTO next;
    INSERT INTO comment_change (comment_id, note_id, position) VALUES (NEW.id, NEW.note_id, next)
        ON CONFLICT (comment_id) DO UPDATE SET position = excluded.position;
    RETURN NULL;
END $$;

CREATE TRIGGER comment_change_numbered
    AFTER UPDATE OF state, removed_at, is_hidden, is_placeholder, edited_at ON comment_index FOR EACH ROW
    WHEN ((OLD.is_counted, OLD.is_listed, OLD.edited_at) IS DISTINCT FROM (NEW.is_counted, NEW.is_listed, NEW.edited_at))
    EXECUTE FUNCTION number_comment_change();

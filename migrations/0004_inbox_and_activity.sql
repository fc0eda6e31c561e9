-- Inbox entries of users, and the activity of edges. Batches write both, so they have no foreign keys.

-- Names of the numbers in the columns `kind`, for people: SELECT name, count(*) FROM activity NATURAL JOIN kind_name
-- GROUP BY name. The columns are numbers because a name in each row and index entry costs time and room.
-- Edges are in src/catalogue/edges.rs, and the other kinds, from 101 on, in src/catalogue/inbox.rs.
CREATE TABLE kind_name (
    kind  smallint PRIMARY KEY,
    name  text NOT NULL,
    CONSTRAINT kind_name_once UNIQUE (name)
);

INSERT INTO kind_name (kind, name) VALUES
    (1, 'note_like'),
    (2, 'comment_like'),
    (3, 'follow'),
    (4, 'note_collect'),
    (5, 'group_join'),
    (101, 'comment'),
    (102, 'reply'),
    (103, 'mention'),
    (104, 'message');

-- Positions in inboxes. They are taken while the recipient's row of inbox_counts is locked, so positions of one recipient
-- rise in the order of commits. A statement takes a block for all its rows, as for activity_position below.
-- The increment is ENTRIES_AT_ONCE in src/store/sql/inbox/notices.rs.
CREATE SEQUENCE inbox_position INCREMENT BY 1000;

-- What an inbox shows: one row for equal events, such as all likes of a note. Events have no rows of their own: an edge
-- has the position at which it notified (`told`); a comment has one event per recipient; messages are counted.
-- An entry is read if its position is at most its badge's position in inbox_counts. An edge whose `told` is after `since`
-- belongs to the entry. It is unread if the entry is not read and its `told` is after `read_to`.
CREATE TABLE inbox_entry (
    recipient_id  bigint NOT NULL,
    -- The note or comment; for a follow the recipient, for a message the sender.
    target_id     bigint NOT NULL,
    -- The position of the newest event: a new event moves the entry to the top.
    id            bigint NOT NULL,
    since         bigint NOT NULL DEFAULT 0,
    read_to       bigint NOT NULL DEFAULT 0,
    -- Time of the newest event.
    created_at    timestamptz NOT NULL,
    -- Users who did it.
    actors        integer NOT NULL,
    -- Unread events; what it says of a read entry does not count.
    unread        integer NOT NULL,
    kind          smallint NOT NULL,
    PRIMARY KEY (recipient_id, kind, target_id)
);

COMMENT ON COLUMN inbox_entry.kind IS 'Why the recipient has it; names are in kind_name.';

-- Inboxes, newest first.
CREATE UNIQUE INDEX inbox_entry_by_position ON inbox_entry (recipient_id, id);
-- Entries about a comment, and those about a sender, to erase their author. Likes do not pay for it.
CREATE INDEX inbox_entry_of_target ON inbox_entry (target_id) WHERE kind > 100;
-- Recent mentions: an author can mention somebody once per note and hour.
CREATE INDEX inbox_entry_mentions ON inbox_entry (recipient_id, created_at) WHERE kind = 103;

-- The order in which steps of a target were written, and so which of its totals is the last. `at` does not show this:
-- it is the time of the action, and the logs of several shards are persisted side by side.
-- A batch takes the positions of its steps from one block: asking the sequence for each of thousands of rows costs a
-- tenth of what it takes to write them. Blocks rise from batch to batch, and a batch takes its block while it holds
-- the locks of its targets' totals, so positions of one target are in the order of writing.
-- The increment is STEPS_AT_ONCE in src/store/sql/counting/activity.rs.
CREATE SEQUENCE activity_position INCREMENT BY 10000;

-- Every step of every edge, with the target's total after it. Narrow columns are last, so that none needs padding.
-- Partitioned by (UTC) day, so that old days are dropped and not deleted row by row.
CREATE TABLE activity (
    at           timestamptz NOT NULL,
    -- 0 once the user was erased.
    actor_id     bigint NOT NULL,
    target_id    bigint NOT NULL,
    total_after  bigint NOT NULL,
    position     bigint DEFAULT nextval('activity_position'),
    kind         smallint NOT NULL,
    is_on        boolean NOT NULL,
    -- The user of the service that acted for the actor; null if the actor did it with a token of their own. Null takes no
    -- room.
    acted_by     bigint
) PARTITION BY RANGE (at);

COMMENT ON COLUMN activity.kind IS 'The kind of the edge; names are in kind_name.';

ALTER SEQUENCE activity_position OWNED BY activity.position;

-- The steps of a target in a period.
CREATE INDEX activity_of_target ON activity (kind, target_id, at);
-- All steps of an hour, to rebuild heat. History is appended in the order of time, which makes BRIN nearly free: a
-- few pages per day, and no work per row.
CREATE INDEX activity_by_time ON activity USING brin (at) WITH (autosummarize = on);

-- Creates the partition of a day if it does not exist. Concurrent callers wait for each other.
CREATE FUNCTION ensure_activity_day(day date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    partition text := 'activity_' || to_char(day, 'YYYYMMDD');
BEGIN
    IF to_regclass(partition) IS NOT NULL THEN
        RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext(current_schema()), hashtext('ensure_activity_day'));
    EXECUTE format(
        'CREATE TABLE IF NOT EXISTS %I PARTITION OF activity FOR VALUES FROM (%L) TO (%L)',
        partition, day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC');
END $$;

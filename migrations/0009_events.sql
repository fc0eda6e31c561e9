-- The stream of events: what happened, for the app's own servers. Each event is written in the transaction that makes
-- it happen, as its last statement. See docs/internals/event-stream.md.

-- Positions are taken while the transaction holds the locks of what it changes, so events of one subject, and events of
-- one shard's log, have them in the order in which they took effect. A statement takes a block for all its rows, as for
-- activity_position. The increment is EVENTS_AT_ONCE in src/store/sql/stream/events.rs.
CREATE SEQUENCE event_position INCREMENT BY 10000 START 10000;
-- The first block is used, so that every writer takes one above the last value that it saw.
SELECT nextval('event_position');

-- Ids only: keys, subjects and names are joined in when an event is read, so they are never outdated, and erasure finds
-- none to empty. No index but the primary key, which grows at its end.
CREATE TABLE event (
    position      bigint PRIMARY KEY,
    -- Time of the action.
    at            timestamptz NOT NULL,
    -- When its transaction began. Retention goes by it: an action may be persisted late. With the position it identifies the
    -- event: after a failover positions may be used again.
    written_at    timestamptz NOT NULL DEFAULT now(),
    -- Who did it; 0 once the user was erased, and if nobody did.
    actor_id      bigint NOT NULL,
    target_id     bigint NOT NULL,
    -- Of an entry of an inbox: whose it is. 0 otherwise.
    recipient_id  bigint NOT NULL,
    -- Of an entry of an inbox: how many events it stands for. 1 otherwise.
    number        integer NOT NULL,
    kind          smallint NOT NULL,
    -- Of an edge: whether it was switched on.
    is_on         boolean NOT NULL,
    -- Of an erasure: the subject, which no other row has any more. Emptied after erased_subject_retention.
    subject       text
);

COMMENT ON COLUMN event.kind IS 'What happened; names are in kind_name.';

ALTER SEQUENCE event_position OWNED BY event.position;

-- Subjects of erasures to empty.
CREATE INDEX event_with_subject ON event (written_at) WHERE subject IS NOT NULL;

-- Numbers of edges and entries are in 0004; an entry of an inbox has the number of its kind plus 200.
-- src/catalogue/events.rs has the same numbers.
INSERT INTO kind_name (kind, name) VALUES
    (111, 'comment_approval'),
    (112, 'note_removal'),
    (113, 'comment_removal'),
    (114, 'group_removal'),
    (115, 'erasure'),
    (201, 'notice_of_note_like'),
    (202, 'notice_of_comment_like'),
    (203, 'notice_of_follow'),
    (301, 'notice_of_comment'),
    (302, 'notice_of_reply'),
    (303, 'notice_of_mention'),
    (304, 'notice_of_message');

-- One row. `position` and `written_at` describe the last event that was deleted: a cursor before it is too old. The row
-- changes in the transaction that deletes.
CREATE TABLE event_stream (
    singleton   boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    -- What the server that was started last said; commands beside it do the same.
    is_on       boolean NOT NULL DEFAULT false,
    position    bigint NOT NULL DEFAULT 0,
    written_at  timestamptz NOT NULL DEFAULT 'epoch',
    -- How far the webhook has the stream; null before the first start with a webhook on.
    webhook_position    bigint,
    webhook_written_at  timestamptz
);
INSERT INTO event_stream DEFAULT VALUES;

-- Takes a block of positions. Until the transaction ends, a shared advisory lock shows the last block that it did not
-- take: its key is 16 bits of the schema's name, since locks are of a whole database, and 48 bits with the number of that
-- block. Writers never wait for each other.
CREATE FUNCTION event_lock_space() RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT hashtext(current_schema())::bigint & x'ffff'::bigint
$$;

CREATE FUNCTION take_event_block() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    below bigint;
BEGIN
    SELECT last_value / 10000 INTO below FROM event_position;
    PERFORM pg_advisory_xact_lock_shared((event_lock_space() << 48) | below);
    RETURN nextval('event_position');
END $$;

-- All events below this position that will ever be committed are visible to statements that begin after it. The order
-- matters: the last value is read before the locks. A writer whose lock is not seen here took its block later, above the
-- last value; or it has ended, and PostgreSQL shows a commit before it releases locks.
CREATE FUNCTION event_horizon() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    newest bigint;
    lowest bigint;
BEGIN
    SELECT last_value / 10000 INTO newest FROM event_position;
    SELECT min((classid::bigint & x'ffff'::bigint) << 32 | objid::bigint) INTO lowest FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 1 AND classid::bigint >> 16 = event_lock_space()
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database());
    RETURN (least(newest, lowest) + 1) * 10000;
END $$;

-- Batches of the webhook: the one that is being delivered, and those that were given up. A batch has its id, its events
-- and its body from before its first attempt until it is delivered, so that every attempt sends the same.
CREATE TABLE webhook_batch (
    id                uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    -- The last event before it, and its last one.
    after_position    bigint NOT NULL,
    after_written_at  timestamptz NOT NULL,
    position          bigint NOT NULL,
    written_at        timestamptz NOT NULL,
    events            integer NOT NULL,
    -- Null once it was given up, and if a user in it was erased: then it is made again from the events.
    body              text,
    tries             integer NOT NULL DEFAULT 0,
    last_error        text,
    failed_at         timestamptz,
    created_at        timestamptz NOT NULL DEFAULT now(),
    -- When its first event was written.
    oldest_written_at timestamptz NOT NULL,
    -- When it was given up.
    died_at           timestamptz
);

-- One is delivered at a time.
CREATE UNIQUE INDEX webhook_batch_open ON webhook_batch ((true)) WHERE died_at IS NULL;
-- Those that were given up, to list and to delete.
CREATE INDEX webhook_batch_dead ON webhook_batch (died_at) WHERE died_at IS NOT NULL;

-- The digest by which a subject is found in `erased_subject`, salted so that a copy of that table alone reveals nothing.
CREATE FUNCTION subject_digest(subject text) RETURNS bytea
LANGUAGE sql STABLE AS $$
    SELECT sha256(subject_salt || convert_to(subject, 'UTF8')) FROM installation
$$;

-- Digests of the subjects of erased users: an import refuses what is older than the erasure.
CREATE TABLE erased_subject (
    digest     bytea PRIMARY KEY,
    erased_at  timestamptz NOT NULL DEFAULT now()
);

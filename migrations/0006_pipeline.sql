-- The pipeline's own state: the installation, ownership of shards, how far each log is persisted, and pending
-- work. No foreign keys: rows name entities as keys in Redis do (note_42), also removed ones.

-- One row. `virtual_shards` is chosen at the first start. Ids are spread over the shards by remainder, so only `plaudit
-- reshard` changes it, while all logs are closed and persisted: it begins the next `layout`.
CREATE TABLE installation (
    singleton       boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    id              uuid NOT NULL DEFAULT gen_random_uuid(),
    virtual_shards  integer NOT NULL CHECK (virtual_shards BETWEEN 1 AND 1024),
    -- The number of reshards so far; names of keys in Redis have it. While `reshard_to` is set, no shard has an owner.
    layout          integer NOT NULL DEFAULT 0 CHECK (layout BETWEEN 0 AND 65535),
    reshard_to      integer CHECK (reshard_to BETWEEN 1 AND 1024),
    -- Number of shards of the layout before, while Redis still has its keys.
    reshard_from    integer,
    -- The timeline for which ids were last moved on, since when, and the last sign of life in the rows that it continues:
    -- what was committed after that may be lost. Null on the first timeline. See begin_timeline.
    timeline        text NOT NULL,
    timeline_since  timestamptz NOT NULL DEFAULT now(),
    timeline_from   timestamptz,
    -- For subject_digest.
    subject_salt    bytea NOT NULL DEFAULT uuid_send(gen_random_uuid()),
    created_at      timestamptz NOT NULL DEFAULT now()
);

-- The timeline that these tables are on, as 16 hexadecimal digits: which database they are in, and PostgreSQL's own timeline
-- (the first 8 digits of the current WAL file's name). It changes when a standby is promoted, a base backup recovers, or a
-- dump is restored, also in the same server: then tables have other oids. All of these may lack the last commits. A session
-- keeps the server's identifier, which is read from a file.
CREATE FUNCTION current_timeline() RETURNS text
LANGUAGE sql VOLATILE AS $$
    SELECT lpad(to_hex(hashtextextended(
        coalesce(nullif(current_setting('plaudit.system', true), ''),
                 set_config('plaudit.system', (pg_control_system()).system_identifier::text, false))
        || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) || 'installation'::regclass::oid, 0)), 16, '0')
$$;

-- Returns the timeline. On a new one, first moves on all that must not be given again, because the lost commits may have
-- given it: values of sequences (ids, positions), epochs of counters, fencing tokens. How far depends on how old the rows
-- are: ids by a million, and a thousand for each second; epochs, of which there are 65,536, by 16, and one for each ten
-- minutes, 4,096 at most. Each connection calls it before anything else. Moves of sequences are not undone by a rollback;
-- calling it again then moves them once more, which is harmless.
CREATE FUNCTION begin_timeline() RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    here    text := current_timeline();
    alive   timestamptz;
    age     bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM installation WHERE timeline <> here) THEN
        RETURN here;
    END IF;
    PERFORM FROM installation WHERE timeline <> here FOR UPDATE;
    IF FOUND THEN
        -- Leases end a little later than their process was last alive.
        SELECT greatest(max(lease_until), max(owned_since), (SELECT max(alive_until) FROM pipeline_process))
        INTO alive FROM shard;
        SELECT least(now(), coalesce(alive, timeline_since)) INTO alive FROM installation;
        age := extract(epoch FROM now() - alive);
        PERFORM setval(format('%I.%I', schemaname, sequencename)::regclass,
                       coalesce(last_value, start_value) + (1000000 + 1000 * age) * increment_by)
        FROM pg_sequences WHERE schemaname = current_schema();
        UPDATE shard SET epoch = epoch + least(16 + age / 600, 4096), fence = fence + 1000000;
        UPDATE installation SET timeline = here, timeline_since = now(), timeline_from = alive;
        RAISE WARNING 'PostgreSQL was restored, or a standby was promoted: what was committed after % may be lost. Ids go on % further',
            alive, 1000000 + 1000 * age;
    END IF;
    RETURN here;
END $$;

-- (generation, number) is the offset of the last log entry that is persisted. It moves in the transaction that
-- writes the rows, so that each entry is persisted exactly once.
-- `digest` is of that entry's text (CRC-64/XZ): a log that has another entry there was overwritten. Null where that is not
-- known: at the beginning of a generation.
-- `fence` is the fencing token of the lease: it rises at each takeover, and every write of an owner checks it.
-- `epoch` is the generation of the shard's counters in Redis.
-- fillfactor 50: updated with every batch; room on the page keeps the updates HOT.
CREATE TABLE shard (
    id           smallint PRIMARY KEY,
    generation   bigint NOT NULL DEFAULT 0,
    number       bigint NOT NULL DEFAULT 0,
    digest       bigint,
    epoch        bigint NOT NULL DEFAULT 0,
    fence        bigint NOT NULL DEFAULT 0,
    owner        text,
    lease_until  timestamptz,
    -- When the owner took it.
    owned_since  timestamptz
) WITH (fillfactor = 50);

-- Processes that run the pipeline, and share the shards. `owner` is the name under which they own shards, `name` is for
-- people: host and process id. A row counts until `alive_until`, which its process moves on every 2 s or more often.
CREATE TABLE pipeline_process (
    owner        text PRIMARY KEY,
    name         text NOT NULL,
    alive_until  timestamptz NOT NULL
);

-- Invalidations: entities and sets that Redis must drop, because PostgreSQL changed them without an event of the log.
-- The shard's owner drops them in Redis, and then deletes exactly the rows that it read. Ids are random, not from a
-- sequence: after a failover a sequence may give the same id twice.
CREATE TABLE invalidation (
    id          uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    shard       smallint NOT NULL,
    names       text NOT NULL,
    -- Of these entities only totals changed, so what is cached of their rows is kept.
    only_counts boolean NOT NULL DEFAULT false,
    reason      text NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    -- A request applies its own invalidations at once, so that its response has the new counts. The row becomes due for
    -- the owner only if the request did not delete it.
    due_at      timestamptz NOT NULL DEFAULT now()
);

COMMENT ON COLUMN invalidation.names IS
    'Entities (note_42) or cached sets (note_like_42) of one kind and of this shard, separated by single spaces.';

-- The oldest of a shard.
CREATE INDEX invalidation_by_shard ON invalidation (shard, created_at);

-- Wakes the owners of the shards, which also check once a second.
CREATE FUNCTION announce_invalidation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('invalidation', '');
    RETURN NULL;
END $$;

CREATE TRIGGER invalidation_announced AFTER INSERT ON invalidation
    FOR EACH STATEMENT EXECUTE FUNCTION announce_invalidation();

-- Backfills: rows to recount after a removal or a hiding, page by page in the background. A page and `after_id` move
-- in one transaction, so that a kill neither repeats nor skips rows.
CREATE TABLE backfill (
    subject      text PRIMARY KEY,       -- the entity: user_5, note_42
    shard        smallint NOT NULL,      -- of the entity: its owner runs the backfill
    kind         text NOT NULL CHECK (kind IN ('hide', 'restore', 'remove', 'erase')),
    -- What is in progress, and the last id that is done; of comments on several notes, the note and the comment.
    stage        smallint NOT NULL DEFAULT 0,
    after_id     bigint NOT NULL DEFAULT 0,
    within_id    bigint NOT NULL DEFAULT 0,
    done         bigint NOT NULL DEFAULT 0,
    total        bigint NOT NULL,        -- rows to go through, as counted at the start
    ordered_by   bigint,                 -- the user who hid, restored or removed the subject; null for a service
    started_at   timestamptz NOT NULL DEFAULT now(),
    finished_at  timestamptz
);

-- The oldest unfinished of a shard.
CREATE INDEX backfill_open ON backfill (shard, started_at) WHERE finished_at IS NULL;

-- Dead events: log entries that this release cannot read, or that PostgreSQL refuses for good. The log's offset moves
-- past them; an operator applies or drops them.
CREATE TABLE dead_event (
    -- The id for operators.
    serial      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Of the edge's actor now, and when it died: a reshard changes the first one. No generation belongs to two
    -- layouts.
    shard       smallint NOT NULL,
    log         smallint NOT NULL,
    generation  bigint NOT NULL,
    number      bigint NOT NULL,
    payload     text NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    -- Why PostgreSQL refused it; null if it cannot be read.
    error       text,
    tries       integer NOT NULL DEFAULT 0,
    -- When it was applied or dropped, or a later event of the same edge was persisted; null while it waits. The row stays,
    -- because its flip may not be retired yet.
    decided_at  timestamptz,
    -- The edge that it switches; null for views and unreadable events.
    kind        text,
    actor_id    bigint,
    target_id   bigint,
    -- Whether the history was enabled when it died: then applying it adds its step.
    history     boolean NOT NULL DEFAULT true,
    CONSTRAINT dead_event_once UNIQUE (log, generation, number)
);

-- Each batch checks whether its shard has dead events of edges, and whether they are of the batch's edges.
CREATE INDEX dead_event_waiting ON dead_event (shard, actor_id, target_id, kind) WHERE decided_at IS NULL;
-- Decided ones to delete.
CREATE INDEX dead_event_decided_age ON dead_event (decided_at) WHERE decided_at IS NOT NULL;

-- Imports, by file: how far the lines are in the database. It moves in the transaction that writes a batch of lines. Every
-- line may be read again without harm, so this only saves time.
CREATE TABLE import_run (
    -- The whole path of the file; - for standard input.
    source         text PRIMARY KEY,
    line           bigint NOT NULL DEFAULT 0,
    -- SHA-256 of all lines up to that one: a file that was changed is read from its beginning.
    digest         bytea NOT NULL,
    rejected       bigint NOT NULL DEFAULT 0,
    -- Length of the file of rejected lines.
    rejects_bytes  bigint NOT NULL DEFAULT 0,
    started_at     timestamptz NOT NULL DEFAULT now(),
    -- Null while lines are left. A finished import begins again.
    finished_at    timestamptz
);

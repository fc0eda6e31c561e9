-- The pipeline's own state: which installation this is, who owns which shard, how far its log is
-- persisted, and what PostgreSQL has to tell Redis.

-- One row. `virtual_shards` is chosen at the first start; ids are spread over the shards by remainder,
-- so it may change only while the log is drained.
CREATE TABLE installation (
    singleton       boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    id              uuid NOT NULL DEFAULT gen_random_uuid(),
    virtual_shards  integer NOT NULL CHECK (virtual_shards BETWEEN 1 AND 1024),
    created_at      timestamptz NOT NULL DEFAULT now()
);

-- (generation, number) is the offset of the last log entry that is in the tables below: it moves in
-- the same transaction as the rows, which is what makes persisting happen exactly once.
-- `fence` rises at each takeover; every write of an owner checks it.
-- `epoch` is the generation of the shard's counters in Redis.
CREATE TABLE shard (
    id           smallint PRIMARY KEY,
    generation   bigint NOT NULL DEFAULT 0,
    number       bigint NOT NULL DEFAULT 0,
    epoch        bigint NOT NULL DEFAULT 0,
    fence        bigint NOT NULL DEFAULT 0,
    owner        text,
    lease_until  timestamptz
) WITH (fillfactor = 50); -- updated with every batch; room on the page keeps the updates HOT

-- Entities whose totals moved in PostgreSQL otherwise than through the log. The shard's owner drops
-- their base in Redis and then deletes exactly the lines that it read. Ids are random, not from a
-- sequence: after a failover a sequence may give the same id twice.
CREATE TABLE invalidation (
    id          uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    shard       smallint NOT NULL,
    names       text NOT NULL,           -- as in the keys: note:42
    reason      text NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX invalidation_by_shard ON invalidation (shard, created_at);

-- Wakes the owners of the shards; they also look by themselves once a second.
CREATE FUNCTION announce_invalidation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('invalidation', '');
    RETURN NULL;
END $$;

CREATE TRIGGER invalidation_announced AFTER INSERT ON invalidation
    FOR EACH STATEMENT EXECUTE FUNCTION announce_invalidation();

-- Log entries that this release could not read. Their place in the log counts as persisted.
CREATE TABLE dead_event (
    id          uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    shard       smallint NOT NULL,
    generation  bigint NOT NULL,
    number      bigint NOT NULL,
    payload     text NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT dead_event_once UNIQUE (shard, generation, number)
);

-- What actions need that PostgreSQL takes by itself, without the log: creating, removing, featuring, coins,
-- messages, read marks, hiding.

-- A client's key for one action: the same key within 24 hours gives the first result again. It stands in
-- the same transaction as what the action did.
CREATE TABLE idempotency_key (
    actor_id    bigint NOT NULL,
    key         text NOT NULL,
    operation   text NOT NULL,           -- the mutation and a digest of its arguments
    changed     boolean NOT NULL DEFAULT false,
    result_id   bigint,                  -- what was created
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (actor_id, key)
);

-- Old keys are deleted.
CREATE INDEX idempotency_key_age ON idempotency_key (created_at);

-- Whoever writes a correction for a request also makes it, so that the reply has the new counts; it
-- becomes the shard owner's duty only if that did not happen.
ALTER TABLE invalidation ADD COLUMN due_at timestamptz NOT NULL DEFAULT now();

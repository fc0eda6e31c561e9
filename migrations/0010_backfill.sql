-- Work that a removal or a hiding leaves behind, done page by page in the background. A page and the place
-- where the work stands move in one transaction, so a kill repeats and skips nothing.

CREATE TABLE backfill (
    subject      text PRIMARY KEY,       -- the entity: user:5, note:42
    shard        smallint NOT NULL,      -- of the entity: its owner does the work
    kind         text NOT NULL CHECK (kind IN ('hide', 'restore', 'remove')),
    -- Where it stands: what it is going through, and the last id that is done.
    stage        smallint NOT NULL DEFAULT 0,
    after_id     bigint NOT NULL DEFAULT 0,
    done         bigint NOT NULL DEFAULT 0,
    total        bigint NOT NULL,        -- rows to go through, as counted at the start
    ordered_by   bigint NOT NULL,        -- the user who asked for it
    started_at   timestamptz NOT NULL DEFAULT now(),
    finished_at  timestamptz
);

CREATE INDEX backfill_open ON backfill (shard, started_at) WHERE finished_at IS NULL;

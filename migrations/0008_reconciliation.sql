-- Reconciliation: repairs, and the progress of the nightly run. No foreign keys: `entity` may name totals
-- without an entity.

-- Kept for 90 days, to explain why a number jumped.
CREATE TABLE repair (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    entity      text NOT NULL,           -- as in the keys: note_42
    what        text NOT NULL,           -- name of the repair: total, totals row, redis, pending, members
    counter     text NOT NULL,           -- name of the counter or edge kind; empty for all counters
    from_value  bigint,                  -- null if there was none
    to_value    bigint,
    made_by     text NOT NULL CHECK (made_by IN ('command', 'background', 'nightly')),
    made_at     timestamptz NOT NULL DEFAULT now()
);

-- The last repairs of an entity, and the old ones to delete.
CREATE INDEX repair_of_entity ON repair (entity, id DESC);
CREATE INDEX repair_age ON repair (made_at);

-- One row. `began_at` is when the last run began, so that a restart neither repeats nor skips a night; `kind` and
-- `after_id` are where it continues. At the first start nothing is overdue: the first run is in the next night.
CREATE TABLE nightly_reconcile (
    singleton    boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    began_at     timestamptz NOT NULL DEFAULT now(),
    finished_at  timestamptz DEFAULT now(),
    kind         text NOT NULL DEFAULT 'user',
    after_id     bigint NOT NULL DEFAULT 0,
    checked      bigint NOT NULL DEFAULT 0,
    skipped      bigint NOT NULL DEFAULT 0,
    drifted      bigint NOT NULL DEFAULT 0,
    repaired     bigint NOT NULL DEFAULT 0
);
INSERT INTO nightly_reconcile DEFAULT VALUES;

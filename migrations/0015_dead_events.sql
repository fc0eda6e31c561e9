-- Dead events: log entries that PostgreSQL refuses for good, beside those that could not be read. The shard
-- goes on without them; an operator applies or drops them.

ALTER TABLE dead_event
    -- What operators call it. The id that was there before is too long to type.
    ADD COLUMN serial bigint GENERATED ALWAYS AS IDENTITY,
    -- Why it is dead; null: this release could not read it.
    ADD COLUMN error text,
    ADD COLUMN tries integer NOT NULL DEFAULT 0,
    ADD COLUMN state text NOT NULL DEFAULT 'dead',
    ADD COLUMN decided_at timestamptz,
    -- The edge that it switches; null for views and for what cannot be read.
    ADD COLUMN kind text,
    ADD COLUMN actor_id bigint,
    ADD COLUMN target_id bigint,
    -- Whether the history was kept when it died: then it gets its step when it is applied.
    ADD COLUMN history boolean NOT NULL DEFAULT true,
    ADD CONSTRAINT dead_event_serial_once UNIQUE (serial),
    -- superseded: a later event of the same edge was persisted, so that this one is past.
    ADD CONSTRAINT dead_event_state_known CHECK (state IN ('dead', 'applied', 'dropped', 'superseded')),
    ADD CONSTRAINT dead_event_decided CHECK ((state = 'dead') = (decided_at IS NULL));

-- Each batch asks whether its shard has dead events of edges, and if so, whether they are of its own edges.
CREATE INDEX dead_event_waiting ON dead_event (shard, actor_id, target_id, kind) WHERE state = 'dead';
-- Decided ones are deleted when they are old.
CREATE INDEX dead_event_decided_age ON dead_event (decided_at) WHERE state <> 'dead';

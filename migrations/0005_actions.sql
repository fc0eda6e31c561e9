-- Actions that bypass the log: idempotency keys, the ledger of coins, ratings. Each row is written in the transaction
-- of its action.

-- A client's key for one action: within 24 hours the same key returns the first result. No foreign keys: keys are
-- deleted in bulk, and mean nothing without their action.
CREATE TABLE idempotency_key (
    actor_id    bigint NOT NULL,
    key         text NOT NULL,
    operation   text NOT NULL,           -- the mutation and a digest of its arguments
    changed     boolean NOT NULL DEFAULT false,
    result_id   bigint,                  -- id of the created entity
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (actor_id, key)
);

-- Keys to delete.
CREATE INDEX idempotency_key_age ON idempotency_key (created_at);

-- Coins: one row per grant. Rows never change, and go only with their user.
CREATE TABLE coin_ledger (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id        bigint NOT NULL REFERENCES app_user (id),
    amount         bigint NOT NULL CHECK (amount <> 0),
    balance_after  bigint NOT NULL,
    reason         text NOT NULL,
    granted_by     bigint NOT NULL REFERENCES app_user (id),
    created_at     timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT coin_ledger_never_below_zero CHECK (balance_after >= 0)
);

-- The grants of a user, in order.
CREATE INDEX coin_ledger_of_user ON coin_ledger (user_id, id DESC);

CREATE FUNCTION refuse_to_change_ledger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Set by the transaction that erases a user.
    IF TG_OP = 'DELETE' AND current_setting('plaudit.erasing', true) = 'on' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION 'coin_ledger is append-only: grant the opposite amount instead';
END $$;

CREATE TRIGGER coin_ledger_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON coin_ledger
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_to_change_ledger();

-- One rating per user and note, which may change. No foreign keys: both were looked up in the same transaction.
CREATE TABLE note_rating (
    user_id     bigint NOT NULL,
    note_id     bigint NOT NULL,
    score       smallint NOT NULL CONSTRAINT note_rating_in_range CHECK (score BETWEEN 0 AND 10),
    created_at  timestamptz NOT NULL DEFAULT now(),
    changed_at  timestamptz NOT NULL DEFAULT now(),
    -- Totals include it: its user is not hidden.
    included    boolean NOT NULL DEFAULT true,
    PRIMARY KEY (user_id, note_id)
);

-- The ratings of a note, the latest first; and for recounts, number and sum of ratings from the index alone.
CREATE INDEX note_rating_of_note ON note_rating (note_id, changed_at DESC, user_id DESC) INCLUDE (score)
    WHERE included;

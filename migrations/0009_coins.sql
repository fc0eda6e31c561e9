-- Coins: every grant is a line, and lines are never changed.

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

-- The lines of a user, in order.
CREATE INDEX coin_ledger_of_user ON coin_ledger (user_id, id DESC);

CREATE FUNCTION refuse_to_change_ledger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'coin_ledger is append-only: grant the opposite amount instead';
END $$;

CREATE TRIGGER coin_ledger_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON coin_ledger
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_to_change_ledger();

ALTER TABLE user_counts ADD CONSTRAINT user_counts_coins_never_below_zero CHECK (coins >= 0);

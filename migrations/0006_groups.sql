-- Groups, in which notes may stand, and collections of notes.

CREATE TABLE app_group (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Who created it. Members are edges, and the creator is not one unless they join.
    owner_id     bigint NOT NULL REFERENCES app_user (id),
    name         text NOT NULL,
    description  text NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    removed_at   timestamptz
);

CREATE TABLE group_counts (
    id              bigint PRIMARY KEY,
    members         bigint NOT NULL DEFAULT 0,
    notes           bigint NOT NULL DEFAULT 0,
    featured_notes  bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70);

CREATE FUNCTION create_group_counts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO group_counts (id) SELECT id FROM born ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

CREATE TRIGGER group_counts_created AFTER INSERT ON app_group
    REFERENCING NEW TABLE AS born FOR EACH STATEMENT EXECUTE FUNCTION create_group_counts();

-- The group in which a note stands; null for none. `featured_at`: a moderator put it forward there.
ALTER TABLE note
    ADD COLUMN group_id bigint REFERENCES app_group (id),
    ADD COLUMN featured_at timestamptz,
    ADD CONSTRAINT note_featured_in_group CHECK (featured_at IS NULL OR group_id IS NOT NULL);

-- Edges, shaped like those in 0004.
CREATE TABLE note_collect (
    actor_id    bigint NOT NULL,
    target_id   bigint NOT NULL,
    is_on       boolean NOT NULL,
    included    boolean NOT NULL,
    created_at  timestamptz NOT NULL,
    changed_at  timestamptz NOT NULL,
    PRIMARY KEY (actor_id, target_id)
);

CREATE TABLE group_join (
    actor_id    bigint NOT NULL,
    target_id   bigint NOT NULL,
    is_on       boolean NOT NULL,
    included    boolean NOT NULL,
    created_at  timestamptz NOT NULL,
    changed_at  timestamptz NOT NULL,
    PRIMARY KEY (actor_id, target_id)
);

-- Totals, one wide row per entity, created with the entity. Column names are those of the catalogue.
-- A total moves only in a transaction that also changes the rows it counts.
-- fillfactor 70: totals change all the time and no index covers them, so updates stay HOT.

CREATE TABLE user_counts (
    id                 bigint PRIMARY KEY,
    following          bigint NOT NULL DEFAULT 0,
    followers          bigint NOT NULL DEFAULT 0,
    notes              bigint NOT NULL DEFAULT 0,
    comments           bigint NOT NULL DEFAULT 0,
    likes_received     bigint NOT NULL DEFAULT 0,
    collects_received  bigint NOT NULL DEFAULT 0,
    groups             bigint NOT NULL DEFAULT 0,
    coins              bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70);

CREATE TABLE note_counts (
    id          bigint PRIMARY KEY,
    likes       bigint NOT NULL DEFAULT 0,
    collects    bigint NOT NULL DEFAULT 0,
    comments    bigint NOT NULL DEFAULT 0,
    views       bigint NOT NULL DEFAULT 0,
    ratings     bigint NOT NULL DEFAULT 0,
    rating_sum  bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70);

CREATE TABLE comment_counts (
    id       bigint PRIMARY KEY,
    likes    bigint NOT NULL DEFAULT 0,
    replies  bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70);

-- Received entries by kind, and how many of them their owner has read (a mark that only rises).
CREATE TABLE inbox_counts (
    id                    bigint PRIMARY KEY,
    replies               bigint NOT NULL DEFAULT 0,
    likes                 bigint NOT NULL DEFAULT 0,
    new_followers         bigint NOT NULL DEFAULT 0,
    direct_messages       bigint NOT NULL DEFAULT 0,
    replies_read          bigint NOT NULL DEFAULT 0,
    likes_read            bigint NOT NULL DEFAULT 0,
    new_followers_read    bigint NOT NULL DEFAULT 0,
    direct_messages_read  bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70);

-- Every entity has its counts from birth: no code path can forget the row.
CREATE FUNCTION create_user_counts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO user_counts (id) SELECT id FROM born ON CONFLICT DO NOTHING;
    INSERT INTO inbox_counts (id) SELECT id FROM born ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

CREATE FUNCTION create_note_counts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO note_counts (id) SELECT id FROM born ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

CREATE FUNCTION create_comment_counts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO comment_counts (id) SELECT id FROM born ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

CREATE TRIGGER user_counts_created AFTER INSERT ON app_user
    REFERENCING NEW TABLE AS born FOR EACH STATEMENT EXECUTE FUNCTION create_user_counts();
CREATE TRIGGER note_counts_created AFTER INSERT ON note
    REFERENCING NEW TABLE AS born FOR EACH STATEMENT EXECUTE FUNCTION create_note_counts();
CREATE TRIGGER comment_counts_created AFTER INSERT ON comment_index
    REFERENCING NEW TABLE AS born FOR EACH STATEMENT EXECUTE FUNCTION create_comment_counts();

-- An index for each list that people page through, in the order in which they read it.

-- Notes of a user, and of a group: newest first, which is highest id first.
CREATE INDEX note_by_author ON note (author_id, id DESC) WHERE removed_at IS NULL;
CREATE INDEX note_of_group ON note (group_id, id DESC) WHERE removed_at IS NULL AND group_id IS NOT NULL;

-- What a user likes, collects, follows and is a member of: last switched on first. The target breaks ties.
CREATE INDEX note_like_by_actor ON note_like (actor_id, changed_at DESC, target_id DESC) WHERE is_on;
CREATE INDEX note_collect_by_actor ON note_collect (actor_id, changed_at DESC, target_id DESC) WHERE is_on;
CREATE INDEX follow_by_actor ON follow (actor_id, changed_at DESC, target_id DESC) WHERE is_on;
CREATE INDEX group_join_by_actor ON group_join (actor_id, changed_at DESC, target_id DESC) WHERE is_on;

-- Who likes a note, follows a user, is a member of a group. Only who counts is listed: no hidden users.
CREATE INDEX note_like_of_target ON note_like (target_id, changed_at DESC, actor_id DESC) WHERE included;
CREATE INDEX follow_of_target ON follow (target_id, changed_at DESC, actor_id DESC) WHERE included;
CREATE INDEX group_join_of_target ON group_join (target_id, changed_at DESC, actor_id DESC) WHERE included;

-- An inbox in order of arrival: entries of one batch share their time, so they are numbered.
ALTER TABLE inbox_entry ADD COLUMN id bigint GENERATED ALWAYS AS IDENTITY;
CREATE UNIQUE INDEX inbox_entry_in_order ON inbox_entry (recipient_id, id DESC);

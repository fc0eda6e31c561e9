-- One line of `invalidation` names many: what a batch corrects in one shard is a few rows instead of thousands.

COMMENT ON COLUMN invalidation.names IS
    'Entities (note:42) or cached sets (note_like:42) of one kind and of this shard, separated by single spaces.';

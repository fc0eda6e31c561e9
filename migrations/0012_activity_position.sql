-- In which order the steps of a target were written, and so which total was the last one. `at` does not
-- tell: it is the time of the action, and the logs of several shards are persisted side by side.
-- The default comes after the column, so that no row that is there is written anew; those have none.
CREATE SEQUENCE activity_position;
ALTER TABLE activity ADD COLUMN position bigint;
ALTER TABLE activity ALTER COLUMN position SET DEFAULT nextval('activity_position');
ALTER SEQUENCE activity_position OWNED BY activity.position;

-- Run before cached sets and newest edges of a shard are deleted, because their rows were changed by something other than
-- the log: what a load read before that change must not be installed after the deletion.
-- KEYS[1]  meta    hash    of the shard
-- Returns  {"done"}
--          {"no_meta"}  the shard is not recovered; nothing written
if redis.call('EXISTS', KEYS[1]) == 0 then
  return { 'no_meta' }
end
redis.call('HINCRBY', KEYS[1], 'sets_invalidated', 1)
return { 'done' }

-- Read what every reader of a shard needs. A script, because it fails on a Redis on which the shard is not
-- recovered; a plain HMGET would not.
-- KEYS[1]  meta  hash  of the shard
-- Returns  {"done", epoch, generation, offset, invalidated}
--                       up to the offset flips may have left the pending overlay; number of invalidated sets
--          {"no_meta"}  the shard is not recovered
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'generation', 'members_retiring', 'sets_invalidated',
  'redis_history')
if not (meta[1] and meta[2] and meta[3] and is_verified(meta[5])) then
  return { 'no_meta' }
end
return { 'done', meta[1], meta[2], meta[3], meta[4] or '0' }

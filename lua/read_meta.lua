-- Read what every reader of a shard needs. A script, because it fails on a Redis process on which no shard is
-- recovered; a plain HMGET would not.
-- KEYS[1]  meta    hash  of the shard
-- ARGV[1]  source  the shard
-- Returns  {"done", epoch, generation, retired-to offset of its own log, number of sets that were invalidated}
--          {"no_meta"}  the shard is not recovered
local fields = { 'epoch', 'generation', 'retired:' .. ARGV[1], 'members_retiring', 'sets_invalidated' }
local meta = redis.call('HMGET', KEYS[1], unpack(fields))
if not (meta[1] and meta[2] and meta[3] and meta[4]) then
  return { 'no_meta' }
end
return { 'done', meta[1], meta[2], later(meta[3], meta[4]), meta[5] or '0' }

-- What a reader must know of a shard. As a script it fails on a Redis process that nobody has verified,
-- which a plain HMGET would not.
-- KEYS[1]  meta    hash  of the shard
-- ARGV[1]  source  the shard
-- Returns  {"done", epoch, generation, cleaned-to offset of its own log, number of sets that were dropped}
--          {"no_meta"}  the shard is not verified
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'gen', 'k:' .. ARGV[1], 'gone', 'drops')
if not (meta[1] and meta[2] and meta[3] and meta[4]) then
  return { 'no_meta' }
end
return { 'done', meta[1], meta[2], later(meta[3], meta[4]), meta[5] or '0' }

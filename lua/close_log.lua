-- A shard's log begins its next generation: until the shard is verified nothing is appended and no membership is
-- told. What was appended before is there to be persisted.
-- Run with EVAL: it belongs to the verification of a Redis process that has no scripts yet.
-- KEYS[1]  meta    hash  of the shard
-- ARGV[1]  source  the shard
-- ARGV[2]  fence   of its owner
-- Returns  {"done"}
--          {"no_meta"}  the shard's counters have not begun; nothing written, here and below
--          {"fenced"}   there is a newer owner
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'fence:' .. ARGV[1])
if not meta[1] then
  return { 'no_meta' }
elseif tonumber(meta[2] or '0') > tonumber(ARGV[2]) then
  return { 'fenced' }
end
redis.call('HDEL', KEYS[1], 'gen')
return { 'done' }

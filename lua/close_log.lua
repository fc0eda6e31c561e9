-- Close a shard's log before its next generation begins: until the shard is recovered nothing is appended and no
-- membership is answered. Entries appended before stay readable, so that they can be persisted.
-- Run with EVAL: recovery works on a Redis process that has no scripts yet.
-- KEYS[1]  meta    hash  of the shard
-- ARGV[1]  source  the shard
-- ARGV[2]  fence   of its owner
-- Returns  {"done"}
--          {"no_meta"}  the shard has no counters yet; nothing written, here and below
--          {"fenced"}   the shard has a newer owner
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'fence:' .. ARGV[1])
if not meta[1] then
  return { 'no_meta' }
elseif tonumber(meta[2] or '0') > tonumber(ARGV[2]) then
  return { 'fenced' }
end
redis.call('HDEL', KEYS[1], 'generation')
return { 'done' }

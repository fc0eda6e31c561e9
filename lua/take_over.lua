-- A new owner of a source shard writes its fence to one target shard and learns how far the target has folded the
-- source's log.
-- Run with EVAL: recovery works on a Redis process that has no scripts yet.
-- KEYS[1]  meta    hash  of the target shard
-- ARGV[1]  source  shard that is taken over
-- ARGV[2]  fence   of its new owner
-- Returns  {"done", folded-to offset}
--          {"no_meta"}  the target has no counters yet; nothing written, here and below
--          {"fenced"}   the source has a newer owner
local meta = redis.call('HMGET', KEYS[1], 'fence:' .. ARGV[1], 'folded:' .. ARGV[1])
if not meta[2] then
  return { 'no_meta' }
elseif tonumber(meta[1] or '0') > tonumber(ARGV[2]) then
  return { 'fenced' }
end
redis.call('HSET', KEYS[1], 'fence:' .. ARGV[1], ARGV[2])
return { 'done', meta[2] }

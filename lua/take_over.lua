-- A new owner of a source shard shows its fence to one target shard and learns how far it has ever folded: also
-- before it was begun anew, for it waits for that.
-- Run with EVAL: it belongs to the verification of a Redis process that has no scripts yet.
-- KEYS[1]  meta    hash  of the target shard
-- ARGV[1]  source  shard that is taken over
-- ARGV[2]  fence   of its new owner
-- Returns  {"done", folded-to offset}
--          {"no_meta"}  the target has not begun; nothing written, here and below
--          {"fenced"}   there is a newer owner
local meta = redis.call('HMGET', KEYS[1], 'fence:' .. ARGV[1], 'w:' .. ARGV[1], 'shown:' .. ARGV[1])
if not meta[2] then
  return { 'no_meta' }
elseif tonumber(meta[1] or '0') > tonumber(ARGV[2]) then
  return { 'fenced' }
end
redis.call('HSET', KEYS[1], 'fence:' .. ARGV[1], ARGV[2])
return { 'done', later(meta[2], meta[3] or meta[2]) }

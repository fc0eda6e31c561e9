-- Set the number up to which a shard's log may grow, and the bytes that its texts may take.
-- KEYS[1]  meta    hash  of the shard
-- ARGV[1]  source  the shard
-- ARGV[2]  fence   of its owner
-- ARGV[3]  limit   number up to which events may be appended; 0 for none
-- ARGV[4]  texts   bytes
-- Returns  {"done"}
--          {"no_meta"}  the shard is not recovered; nothing written, here and below
--          {"fenced"}   the shard has a newer owner
local meta = redis.call('HMGET', KEYS[1], 'generation', 'fence:' .. ARGV[1])
if not meta[1] then
  return { 'no_meta' }
elseif tonumber(meta[2] or '0') > tonumber(ARGV[2]) then
  return { 'fenced' }
end
redis.call('HSET', KEYS[1], 'append_limit', ARGV[3], 'text_limit', ARGV[4])
return { 'done' }

-- Record up to where a shard's pending flips are retired.
-- KEYS[1]  meta    hash  of the shard
-- ARGV[1]  source  the shard
-- ARGV[2]  fence   of its owner
-- ARGV[3]  to      offset
-- Returns  {"done"}
--          {"no_meta"}  the shard is not recovered; nothing written, here and below
--          {"fenced"}   the shard has a newer owner
local stored = redis.call('HMGET', KEYS[1], 'members_retired', 'fence:' .. ARGV[1])
if not stored[1] then
  return { 'no_meta' }
elseif tonumber(stored[2] or '0') > tonumber(ARGV[2]) then
  return { 'fenced' }
end
redis.call('HSET', KEYS[1], 'members_retired', ARGV[3])
return { 'done' }

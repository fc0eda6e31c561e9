-- Repair the cache of one actor's edges of one kind: delete the set, and flips that stayed pending too long.
-- KEYS[1]  meta     hash    of the actor's shard
-- KEYS[2]  pending  hash    of the actor
-- KEYS[3]  edges    set     of the actor
-- KEYS[4]  floor    string  lowest target id of a truncated set
-- KEYS[5]  newest   zset    newest edges of the actor
-- ARGV[1]  drop     1 to delete the set and the newest edges, else 0
-- ARGV[2…] fields   of flips in the pending hash; a flip that is not retired stays
-- Returns  {"done"}
--          {"no_meta"}  the shard is not recovered; nothing written
local meta = redis.call('HMGET', KEYS[1], 'generation', 'members_retired')
if not (meta[1] and meta[2]) then
  return { 'no_meta' }
end
if ARGV[1] == '1' then
  redis.call('UNLINK', KEYS[3], KEYS[4], KEYS[5])
end
for i = 2, #ARGV do
  local flip = redis.call('HGET', KEYS[2], ARGV[i])
  local offset = flip and string.match(flip, '^[01]:(%d+%-%d+)')
  if offset and at_most(offset, meta[2]) then
    redis.call('HDEL', KEYS[2], ARGV[i])
  end
end
return { 'done' }

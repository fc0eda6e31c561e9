-- Invalidate cached sets and newest edges of actors of one shard: their rows were changed by something other than the log.
-- KEYS[1]  meta    hash    of the shard
-- then for each actor and kind:
--          edges   set
--          newest  zset    if it is kept of this kind
-- Returns  {"done"}
--          {"no_meta"}  the shard is not recovered; nothing written
if redis.call('EXISTS', KEYS[1]) == 0 then
  return { 'no_meta' }
end
local sets = {}
for i = 2, #KEYS do
  sets[i - 1] = KEYS[i]
end
delete_all(sets)
redis.call('HINCRBY', KEYS[1], 'sets_invalidated', 1) -- a load that read before this must not install
return { 'done' }

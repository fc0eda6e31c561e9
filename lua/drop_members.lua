-- Rows of one actor's edges were switched otherwise than through the log: forget the cached set.
-- KEYS[1]  meta   hash    of the actor's shard
-- KEYS[2]  edges  set     of the actor
-- KEYS[3]  floor  string  lowest target id of a truncated set
-- Returns  {"done"}
--          {"no_meta"}  the shard is not verified; nothing written
if redis.call('EXISTS', KEYS[1]) == 0 then
  return { 'no_meta' }
end
redis.call('UNLINK', KEYS[2], KEYS[3])
redis.call('HINCRBY', KEYS[1], 'drops', 1) -- a load that read before this must not install
return { 'done' }

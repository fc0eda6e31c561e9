-- Invalidate one actor's cached set: its rows were changed by something other than the log.
-- KEYS[1]  meta   hash    of the actor's shard
-- KEYS[2]  edges  set     of the actor
-- KEYS[3]  floor  string  lowest target id of a truncated set
-- Returns  {"done"}
--          {"no_meta"}  the shard is not recovered; nothing written
if redis.call('EXISTS', KEYS[1]) == 0 then
  return { 'no_meta' }
end
redis.call('UNLINK', KEYS[2], KEYS[3])
redis.call('HINCRBY', KEYS[1], 'sets_invalidated', 1) -- a load that read before this must not install
return { 'done' }

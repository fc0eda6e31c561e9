-- An entity changed in PostgreSQL: forget its loaded totals and its text, and say "unknown".
-- KEYS[1]  meta      hash     of the entity's shard
-- KEYS[2]  channel   pub/sub  of the shard
-- KEYS[3]  counters  hash     of the entity
-- KEYS[4]  load token string  of the entity
-- KEYS[5]  body      string   cached text of the entity
-- ARGV[1]  entity
-- ARGV[2]  guard     ms for which the change is marked: longer than any read takes, so that nobody caches text
--                    that was read before the change
-- ARGV[3…] names of its counters
-- Returns  {"done", epoch, change}  the change that says "unknown"
--          {"no_meta"}              the shard is not verified; nothing written
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'seq')
if not meta[1] then
  return { 'no_meta' }
end

local before = tonumber(meta[2])
local change = integer(before + 1)
local held = redis.call('HMGET', KEYS[3], 'epoch', 'marks')
if held[1] == meta[1] and tonumber(held[2] or '0') > 0 then
  redis.call('HDEL', KEYS[3], unpack(ARGV, 3))
  redis.call('HSET', KEYS[3], 'v', change)
else
  redis.call('UNLINK', KEYS[3])
end
redis.call('DEL', KEYS[4]) -- a load that read before the change must not install
redis.call('SET', KEYS[5], 'changed ' .. meta[1] .. '-' .. change, 'PX', ARGV[2])
redis.call('HSET', KEYS[1], 'seq', change)
publish(KEYS[2], meta[1], before, before + 1, '-', '-', { ARGV[1] .. ' ' .. change .. ' ?' })
return { 'done', meta[1], change }

-- Reset the heat of a shard's events: those after a moment in the near future are added when they are retired, and
-- earlier ones must be rebuilt. The moment is in the future so that no event after it can have been retired already.
-- KEYS[1]   meta    hash    of the shard; its field "hot" is the moment (Unix ms)
-- KEYS[2]   built   string  Unix ms up to which past events are counted; complete when it reaches "hot"
-- KEYS[3…]  heat    zset    every bucket that may hold something from before the reset
-- ARGV[1]   ahead   ms from now to the moment
-- ARGV[2]   from    Unix ms at which the rebuild begins; empty when there is nothing to rebuild from
-- Returns   {"done"}
--           {"kept"}     heat has begun already; nothing written, here and below
--           {"no_meta"}  the shard is not recovered
local ahead, from = tonumber(ARGV[1]), ARGV[2]
if not (ahead and (from == '' or tonumber(from))) then
  return redis.error_reply('ERR begin_heat: bad arguments')
end
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'hot')
if not meta[1] then
  return { 'no_meta' }
elseif meta[2] and redis.call('EXISTS', KEYS[2]) == 1 then
  return { 'kept' }
end

local clock = redis.call('TIME')
local moment = string.format('%.0f', clock[1] * 1000 + math.floor(clock[2] / 1000) + ahead)
redis.call('UNLINK', unpack(KEYS, 3))
redis.call('HSET', KEYS[1], 'hot', moment)
redis.call('SET', KEYS[2], from == '' and moment or from)
return { 'done' }

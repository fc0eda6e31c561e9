-- Begin the heat of a shard's notes anew: from a moment just ahead on the fold adds it, and what happened
-- before is to be rebuilt. The moment lies ahead so that nothing after it can have been folded already.
-- KEYS[1]   meta    hash    of the shard: "hot", the moment (Unix ms)
-- KEYS[2]   built   string  up to when what happened is in (Unix ms): all of it at "hot"
-- KEYS[3…]  heat    zset    every one that may hold something of an earlier beginning
-- ARGV[1]   ahead   ms from now to the moment
-- ARGV[2]   from    Unix ms at which the rebuilding begins; empty when there is nothing to rebuild from
-- Returns   {"done"}
--           {"kept"}     it has begun already; nothing written, here and below
--           {"no_meta"}  the shard is not verified
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

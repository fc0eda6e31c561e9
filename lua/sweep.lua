-- Delete what an earlier epoch or generation left behind under one key.
-- KEYS[1]  meta  hash  of the shard
-- KEYS[2]  counters hash, or pending hash of an actor
-- Returns  {number of fields or keys removed}
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'generation')
if not (meta[1] and meta[2]) then
  return { 0 }
end
local epoch = redis.call('HGET', KEYS[2], 'epoch')
if epoch then
  return { epoch == meta[1] and 0 or redis.call('UNLINK', KEYS[2]) }
end
local removed = 0
local flips = redis.call('HGETALL', KEYS[2])
for i = 1, #flips, 2 do
  if string.match(flips[i + 1], '^[01]:(%d+)') ~= meta[2] then
    removed = removed + redis.call('HDEL', KEYS[2], flips[i])
  end
end
return { removed }

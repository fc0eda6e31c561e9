-- The notes that are hottest by the events of some shards, in some of their buckets of time together.
-- KEYS[1]   merged  zset    temporary
-- then for each shard:
--           meta    hash    of the shard
--           built   string  Unix ms up to which past events are counted
--           heat    zset    the buckets
-- ARGV[1]   most    how many notes
-- ARGV[2]   keys    how many of each shard
-- Returns   {"done", note, heat, …}  the hottest first; heat below zero means likes of before that were taken back
--           {"incomplete"}           not all past events of a shard are counted
local keys, buckets = tonumber(ARGV[2]), {}
for first = 2, #KEYS, keys do
  local since, built = redis.call('HGET', KEYS[first], 'hot'), redis.call('GET', KEYS[first + 1])
  if not (since and built and tonumber(built) >= tonumber(since)) then
    return { 'incomplete' }
  end
  for bucket = first + 2, first + keys - 1 do
    buckets[#buckets + 1] = KEYS[bucket]
  end
end
redis.call('ZUNIONSTORE', KEYS[1], #buckets, unpack(buckets))
local hottest = redis.call('ZRANGE', KEYS[1], '0', ARGV[1] - 1, 'REV', 'WITHSCORES')
redis.call('UNLINK', KEYS[1])
return { 'done', unpack(hottest) }

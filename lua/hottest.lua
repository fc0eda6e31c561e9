-- The notes that are hottest by the events of a shard, in some of its buckets of time together.
-- KEYS[1]   meta    hash    of the shard
-- KEYS[2]   built   string  Unix ms up to which past events are counted
-- KEYS[3]   merged  zset    temporary
-- KEYS[4…]  heat    zset    the buckets
-- ARGV[1]   most    how many notes
-- Returns   {"done", note, heat, …}  the hottest first; heat below zero means likes of before that were taken back
--           {"incomplete"}           not all past events are counted
local since, built = redis.call('HGET', KEYS[1], 'hot'), redis.call('GET', KEYS[2])
if not (since and built and tonumber(built) >= tonumber(since)) then
  return { 'incomplete' }
end
redis.call('ZUNIONSTORE', KEYS[3], #KEYS - 3, unpack(KEYS, 4))
local hottest = redis.call('ZRANGE', KEYS[3], '0', ARGV[1] - 1, 'REV', 'WITHSCORES')
redis.call('UNLINK', KEYS[3])
return { 'done', unpack(hottest) }

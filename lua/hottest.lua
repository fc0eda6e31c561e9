-- The hottest notes of a shard in some of its stretches of time together.
-- KEYS[1]   meta    hash    of the shard
-- KEYS[2]   built   string  up to when what happened is in (Unix ms)
-- KEYS[3]   merged  zset    used in between
-- KEYS[4…]  heat    zset    the stretches
-- ARGV[1]   most    how many notes
-- Returns   {"done", note, heat, …}  the hottest first; only those with some heat
--           {"incomplete"}           what happened is not all in
local since, built = redis.call('HGET', KEYS[1], 'hot'), redis.call('GET', KEYS[2])
if not (since and built and tonumber(built) >= tonumber(since)) then
  return { 'incomplete' }
end
redis.call('ZUNIONSTORE', KEYS[3], #KEYS - 3, unpack(KEYS, 4))
local hottest = redis.call('ZRANGE', KEYS[3], '+inf', '(0', 'BYSCORE', 'REV', 'LIMIT', 0, ARGV[1], 'WITHSCORES')
redis.call('UNLINK', KEYS[3])
return { 'done', unpack(hottest) }

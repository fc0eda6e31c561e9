-- Add the heat of a shard's past events, from one interval of time. Exactly once: the interval must begin where the
-- last one ended.
-- KEYS[1]   meta   hash    of the shard
-- KEYS[2]   built  string  Unix ms up to which past events are counted
-- KEYS[3…]  heat   zset    of those notes, one per bucket of time
-- ARGV[1]   since  Unix ms from which on events are added when they are retired
-- ARGV[2]   from   Unix ms at which the interval begins
-- ARGV[3]   to     Unix ms at which the interval ends
-- then for each heat:  Unix ms at which it expires, number of notes, for each note: id, heat
-- Returns   {"done"}
--           {"moved"}  heat was reset, or another process has added this interval; nothing written
local meta = redis.call('HGET', KEYS[1], 'hot')
if meta ~= ARGV[1] or redis.call('GET', KEYS[2]) ~= ARGV[2] then
  return { 'moved' }
end
add_heat(read_heat(arguments_after(3), 3))
redis.call('SET', KEYS[2], ARGV[3])
return { 'done' }

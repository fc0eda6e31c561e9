-- Add what happened in a stretch of time to the heat of a shard's notes, exactly once.
-- KEYS[1]   meta   hash    of the shard
-- KEYS[2]   built  string  up to when what happened is in (Unix ms)
-- KEYS[3…]  heat   zset    of those notes
-- ARGV[1]   since  Unix ms from which on the fold adds heat
-- ARGV[2]   from   Unix ms at which the stretch begins
-- ARGV[3]   to     Unix ms at which it ends
-- then for each heat:  Unix ms at which its life ends, number of notes, for each note: id, heat
-- Returns   {"done"}
--           {"moved"}  it was begun anew, or built by another one; nothing written
local meta = redis.call('HGET', KEYS[1], 'hot')
if meta ~= ARGV[1] or redis.call('GET', KEYS[2]) ~= ARGV[2] then
  return { 'moved' }
end
add_heat(read_heat(arguments_after(3), 3))
redis.call('SET', KEYS[2], ARGV[3])
return { 'done' }

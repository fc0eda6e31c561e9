-- Add the heat of a batch of a shard's log, exactly once.
-- KEYS[1]   meta    hash  of the shard
-- KEYS[2…]  heat    zset  of notes, one per bucket of time
-- ARGV[1]   source  the shard
-- ARGV[2]   fence   of its owner
-- ARGV[3]   from    offset up to which heat is added
-- ARGV[4]   to      offset up to which it is added afterwards
-- ARGV[5]   since   Unix ms from which on events count, as the caller read it; empty: heat has not begun
-- then for each heat:  Unix ms at which it expires, number of notes, for each note: id, heat
-- Returns   {"done"}
--           {"no_meta"}  the shard is not recovered; nothing written, here and below
--           {"fenced"}   the shard has a newer owner
--           {"moved"}    heat is added up to another offset, or counts since another time
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'fence:' .. ARGV[1], 'heated', 'hot')
if not meta[1] then
  return { 'no_meta' }
elseif tonumber(meta[2] or '0') > tonumber(ARGV[2]) then
  return { 'fenced' }
elseif meta[3] ~= ARGV[3] or (meta[4] or '') ~= ARGV[5] then
  return { 'moved' }
end
add_heat(read_heat(arguments_after(5), 2))
redis.call('HSET', KEYS[1], 'heated', ARGV[4])
return { 'done' }

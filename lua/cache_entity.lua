-- Cache an entity as read from PostgreSQL, unless its place in the cache changed since before it was read.
-- KEYS[1]  cached  string  the entity
-- ARGV[1]  mark    what stood there before: a marker of invalidate_counts.lua, or empty for nothing
-- ARGV[2]  text    timeline of PostgreSQL, a space, JSON
-- ARGV[3]  life    ms
-- Returns  {"done"}
--          {"refused"}  something else stands there now; nothing written
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then
  return { 'refused' }
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return { 'done' }

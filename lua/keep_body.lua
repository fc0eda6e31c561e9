-- Cache text that was read from PostgreSQL, unless it changed since what the reader saw before it read.
-- KEYS[1]  body   string  cached text of an entity
-- ARGV[1]  seen   what stood there before: a marker of lua/drop_base.lua, or empty for nothing
-- ARGV[2]  text   JSON
-- ARGV[3]  life   ms
-- Returns  {"done"}
--          {"refused"}  something else stands there now; nothing written
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then
  return { 'refused' }
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return { 'done' }

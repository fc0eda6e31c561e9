-- Keep one actor's newest edges of one kind, as read from SQL. Flips are not applied: a reader does that, and a retirement
-- (retire_members.lua) writes those that it removes from the pending overlay.
-- KEYS[1]  meta    hash  of the actor's shard
-- KEYS[2]  newest  zset  target ids by the time of the edge in Unix microseconds; its lowest member is a marker, as in
--                        the cached set: -2 * generation, or one less if the actor has older edges
-- ARGV[1]  generation   of the shard's log, as read before SQL was asked
-- ARGV[2]  persisted    offset up to which SQL had persisted the shard's log, in the statement that read the edges
-- ARGV[3]  life         ms
-- ARGV[4]  invalidated  number of sets that were invalidated on the shard, as read before SQL was asked
-- ARGV[5]  truncated    1 if there are older edges than those given, else 0
-- then for each edge:  time, target id
-- Returns  {"done"}
--          {"no_meta"}  the shard is not recovered; nothing written, here and below
--          {"refused"}  something moved meanwhile
local generation = ARGV[1]
local refused = why_not_kept(KEYS[1], generation, ARGV[4], ARGV[2])
if refused then
  return refused
end
redis.call('DEL', KEYS[2])
redis.call('ZADD', KEYS[2], 0, -2 * tonumber(generation) - tonumber(ARGV[5]), unpack(ARGV, 6))
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return { 'done' }

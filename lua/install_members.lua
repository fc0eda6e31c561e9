-- Put one actor's edges of one kind, as read from SQL, into the cached set.
-- KEYS[1]  meta   hash    of the actor's shard
-- KEYS[2]  edges  set     of the actor
-- KEYS[3]  floor  string  lowest target id of a truncated set
-- ARGV[1]  source       the actor's shard
-- ARGV[2]  generation   of the shard's log, as read before SQL was asked
-- ARGV[3]  persisted    offset up to which SQL had persisted the shard's log, in the statement that read the edges
-- ARGV[4]  life         ms
-- ARGV[5]  invalidated  number of sets that were invalidated on the shard, as read before SQL was asked
-- ARGV[6]  floor        lowest target id when there are more edges than given here, else empty
-- ARGV[7…] target ids
-- Returns  {"done"}
--          {"no_meta"}  the shard is not recovered; nothing written, here and below
--          {"refused"}  something moved meanwhile: load again
local fields = { 'generation', 'retired:' .. ARGV[1], 'members_retiring', 'sets_invalidated' }
local meta = redis.call('HMGET', KEYS[1], unpack(fields))
local generation, invalidated = meta[1], meta[4] or '0'
if not (generation and meta[2] and meta[3]) then
  return { 'no_meta' }
end
local retired = later(meta[2], meta[3])
if generation ~= ARGV[2] or invalidated ~= ARGV[5] or not at_most(retired, ARGV[3]) then
  return { 'refused' }
end

local truncated = ARGV[6] ~= ''
redis.call('DEL', KEYS[2], KEYS[3])
-- In slices: Lua's unpack has a limit of about 8,000 values.
for first = 7, #ARGV, 4000 do
  redis.call('SADD', KEYS[2], unpack(ARGV, first, math.min(first + 3999, #ARGV)))
end
redis.call('SADD', KEYS[2], '-' .. string.format('%.0f', 2 * tonumber(generation) + (truncated and 1 or 0)))
redis.call('PEXPIRE', KEYS[2], ARGV[4])
if truncated then
  redis.call('SET', KEYS[3], ARGV[6], 'PX', ARGV[4])
end
return { 'done' }

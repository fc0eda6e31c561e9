-- Put one actor's edges of one kind, as read from SQL, into the cached set, and apply the flips that SQL may lack.
-- KEYS[1]  meta     hash    of the actor's shard
-- KEYS[2]  edges    set     of the actor
-- KEYS[3]  floor    string  lowest target id of a truncated set
-- KEYS[4]  pending  hash    the actor's flips that are not retired
-- ARGV[1]  generation   of the shard's log, as read before SQL was asked
-- ARGV[2]  persisted    offset up to which SQL had persisted the shard's log, in the statement that read the edges
-- ARGV[3]  life         ms
-- ARGV[4]  invalidated  number of sets that were invalidated on the shard, as read before SQL was asked
-- ARGV[5]  floor        lowest target id when there are more edges than given here, else empty
-- ARGV[6]  kind         edge kind
-- ARGV[7…] target ids
-- Returns  {"done"}
--          {"no_meta"}  the shard is not recovered; nothing written, here and below
--          {"refused"}  something moved meanwhile: load again
local generation = ARGV[1]
local refused = why_not_kept(KEYS[1], generation, ARGV[4], ARGV[2])
if refused then
  return refused
end

local floor, kind = tonumber(ARGV[5]), ARGV[6]
redis.call('DEL', KEYS[2], KEYS[3])
-- In slices: Lua's unpack has a limit of about 8,000 values.
for first = 7, #ARGV, 4000 do
  redis.call('SADD', KEYS[2], unpack(ARGV, first, math.min(first + 3999, #ARGV)))
end
redis.call('SADD', KEYS[2], -2 * tonumber(generation) - (floor and 1 or 0))

-- The pending flip of an edge is its latest flip: SQL has the same state, or an older one.
local flips = redis.call('HGETALL', KEYS[4])
for i = 1, #flips, 2 do
  local of_kind, target = string.match(flips[i], '^(.+):(%d+)$')
  local state, of = string.match(flips[i + 1], '^([01]):(%d+)%-')
  if of_kind == kind and of == generation and not (floor and tonumber(target) < floor) then
    redis.call(state == '1' and 'SADD' or 'SREM', KEYS[2], target)
  end
end

redis.call('PEXPIRE', KEYS[2], ARGV[3])
if floor then
  redis.call('SET', KEYS[3], ARGV[5], 'PX', ARGV[3])
end
return { 'done' }

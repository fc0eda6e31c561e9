-- A batch is in PostgreSQL: one actor's flips in it move from the pending ones to the cached sets. Notes that flips
-- up to there may be gone, so that no older answer of SQL is believed, whatever becomes of this batch's clean.
-- KEYS[1]  meta     hash    of the actor's shard
-- KEYS[2]  pending  hash    of the actor
-- KEYS[3, 5, …]     edges set    one per edge kind in the batch
-- KEYS[4, 6, …]     floor string of the same kind
-- ARGV[1]  source   the shard
-- ARGV[2]  fence    of its owner
-- ARGV[3]  to       offset up to which the log is persisted
-- ARGV[4]  most     members that a set may have; a larger one is dropped and loaded anew, truncated
-- then for each kind:  1 if its set is dropped, because a flip in the batch made no row; else 0
-- then for each flip:  position of its kind (from 1), field in the pending hash, target id
-- Returns  {"done"}
--          {"no_meta"}  the shard is not verified; nothing written, here and below
--          {"fenced"}   it has a newer owner
local meta = redis.call('HMGET', KEYS[1], 'gen', 'fence:' .. ARGV[1], 'gone')
local generation = meta[1]
if not generation then
  return { 'no_meta' }
elseif tonumber(meta[2] or '0') > tonumber(ARGV[2]) then
  return { 'fenced' }
end
local to, most = ARGV[3], tonumber(ARGV[4])
local kinds = (#KEYS - 2) / 2
if not most or (#ARGV - 4 - kinds) % 3 ~= 0 then
  return redis.error_reply('ERR clean_members: bad arguments')
end

local complete = '-' .. string.format('%.0f', 2 * tonumber(generation))
local truncated = '-' .. string.format('%.0f', 2 * tonumber(generation) + 1)
local sets = {}
for i = 3, #KEYS, 2 do
  local marker = redis.call('SMISMEMBER', KEYS[i], complete, truncated)
  local floor = marker[2] == 1 and redis.call('GET', KEYS[i + 1])
  local dropped = ARGV[4 + (i - 1) / 2] == '1'
  local usable = not dropped and (marker[1] == 1 or (marker[2] == 1 and floor))
  sets[#sets + 1] = { key = KEYS[i], floor_key = KEYS[i + 1], floor = floor, usable = usable, dropped = dropped }
end

if not (meta[3] and at_most(to, meta[3])) then
  redis.call('HSET', KEYS[1], 'gone', to)
end
for i = 5 + kinds, #ARGV, 3 do
  local set, field, target = sets[tonumber(ARGV[i])], ARGV[i + 1], ARGV[i + 2]
  local pending = redis.call('HGET', KEYS[2], field)
  local state, offset
  if pending then
    state, offset = string.match(pending, '^([01]):(%d+%-%d+)')
  end
  if pending and at_most(offset, to) then
    redis.call('HDEL', KEYS[2], field)
    if set.usable and string.match(offset, '^%d+') == generation then
      if state == '0' then
        redis.call('SREM', set.key, target)
      elseif not set.floor or tonumber(target) >= tonumber(set.floor) then
        redis.call('SADD', set.key, target)
      end
    end
  end
end

for _, set in ipairs(sets) do
  if set.dropped or redis.call('SCARD', set.key) > most then
    redis.call('UNLINK', set.key, set.floor_key)
  end
end
return { 'done' }

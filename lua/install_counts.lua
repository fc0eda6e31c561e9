-- Finish a load: set an entity's totals to the base totals from SQL plus the pending overlay.
-- KEYS[1]  meta      hash     of the entity's shard
-- KEYS[2]  channel   pub/sub  of the shard
-- KEYS[3]  counters  hash     of the entity
-- KEYS[4]  load token string  of the entity
-- ARGV[1]  token     as taken
-- ARGV[2]  epoch     as read when the token was taken
-- ARGV[3]  timeline  of PostgreSQL in the same statement as the totals
-- ARGV[4]  entity
-- ARGV[5]  life      ms for which the counters are kept while nothing of them is pending
-- ARGV[6]  shards    number of virtual shards
-- ARGV[7…]  per source shard: offset up to which SQL had persisted its log, in that same statement
-- then per counter:  name, base total
-- Returns  {"done", change, value per counter}
--          {"behind"}   the fold is behind what SQL had persisted: call again soon; nothing written, here and below
--          {"refused"}  something moved meanwhile: load again
local token, epoch, timeline, entity, shards = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[6])
local counters = (#ARGV - 6 - shards) / 2
if not shards or counters < 1 or counters % 1 ~= 0 then
  return redis.error_reply('ERR install_counts: bad arguments')
end

local meta_fields, watermark_fields = { 'epoch', 'timeline', 'change' }, { 'epoch', 'marks' }
for source = 0, shards - 1 do
  meta_fields[#meta_fields + 1] = 'folded:' .. source
  meta_fields[#meta_fields + 1] = 'folded_before_reset:' .. source
  watermark_fields[#watermark_fields + 1] = '~' .. source
end
local meta = redis.call('HMGET', KEYS[1], unpack(meta_fields))
if meta[1] ~= epoch or meta[2] ~= timeline or redis.call('GET', KEYS[4]) ~= token then
  return { 'refused' }
end

local held = redis.call('HMGET', KEYS[3], unpack(watermark_fields))
local same_epoch = held[1] == epoch
for source = 0, shards - 1 do
  local persisted, folded, folded_before_reset = ARGV[7 + source], meta[4 + 2 * source], meta[5 + 2 * source]
  local low_watermark = same_epoch and held[3 + source]
  -- The base totals must not be ahead of the fold, nor include any part of the pending overlay.
  if not folded or not at_most(persisted, folded) then
    return { 'behind' }
  end
  -- After a reset of the shard, counts must not be behind those that clients saw before it.
  if not at_most(folded_before_reset, folded) then
    return { 'refused' }
  end
  if low_watermark and not at_most(persisted, low_watermark) then
    return { 'refused' }
  end
end

if held[1] and not same_epoch then
  redis.call('DEL', KEYS[3])
end
local before = tonumber(meta[3])
local change = integer(before + 1)
local writes, values, totals = { 'epoch', epoch, 'v', change }, {}, { entity, change }
for i = 1, counters do
  local name, total = ARGV[5 + shards + 2 * i], tonumber(ARGV[6 + shards + 2 * i])
  local pair = redis.call('HMGET', KEYS[3], name, '+' .. name)
  if pair[1] then
    values[i] = pair[1] -- installed before; only a counter that is new in this release may be missing
  else
    values[i] = integer(total + tonumber(pair[2] or '0'))
    writes[#writes + 1] = name
    writes[#writes + 1] = values[i]
  end
  totals[#totals + 1] = name .. '=' .. values[i]
end
redis.call('HSET', KEYS[3], unpack(writes))
if not same_epoch or tonumber(held[2] or '0') == 0 then
  redis.call('PEXPIRE', KEYS[3], ARGV[5])
end
redis.call('HSET', KEYS[1], 'change', change)
redis.call('DEL', KEYS[4])
publish(KEYS[2], epoch, before, before + 1, '-', '-', { table.concat(totals, ' ') })
return { 'done', change, unpack(values) }

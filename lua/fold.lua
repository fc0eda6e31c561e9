-- Apply one batch of a source shard's log to the counters of one target shard, exactly once, and tell.
-- KEYS[1]   meta     hash     of the target shard
-- KEYS[2]   channel  pub/sub  of the target shard
-- KEYS[3…]  counters hash     one per entity
-- ARGV[1]   source   shard whose log this is
-- ARGV[2]   from     offset up to which the target must have folded that log
-- ARGV[3]   to       offset up to which it has afterwards
-- ARGV[4]   epoch    of the target's counters
-- ARGV[5]   fence    of the source's owner
-- ARGV[6]   kinds    how many kinds of entities follow
-- then for each kind:    number of counters, their names
-- then for each entity:  position of its kind (from 1), entity, offset just before its first event,
--                        offset of its last event, one difference per counter
-- Returns   {"done"}
--           {"no_meta"}             the target is not verified; nothing written, here and below
--           {"other_epoch", epoch}  the target began anew
--           {"fenced"}              the source has a newer owner
--           {"moved", offset}       the target has folded up to there
local source, from, to, epoch, fence = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])

local meta = redis.call('HMGET', KEYS[1], 'epoch', 'fence:' .. source, 'w:' .. source, 'seq')
if not meta[1] then
  return { 'no_meta' }
elseif meta[1] ~= epoch then
  return { 'other_epoch', meta[1] }
elseif tonumber(meta[2] or '0') > fence then
  return { 'fenced' }
elseif meta[3] ~= from then
  return { 'moved', meta[3] or '' }
end

local at = 6
local function argument()
  at = at + 1
  return ARGV[at]
end

local kinds = {}
for _ = 1, tonumber(ARGV[6]) do
  local names = {}
  for _ = 1, tonumber(argument()) do
    names[#names + 1] = argument()
  end
  -- The fields to read of a hash of this kind: each counter's total and its pending part.
  local fields = { 'epoch', '~' .. source, 'marks' }
  for _, name in ipairs(names) do
    fields[#fields + 1] = name
    fields[#fields + 1] = '+' .. name
  end
  kinds[#kinds + 1] = { names = names, fields = fields }
end

local batch = {}
for i = 3, #KEYS do
  local kind = kinds[tonumber(argument())]
  local entry = { key = KEYS[i], kind = kind, entity = argument(), deltas = {} }
  entry.after, entry.last = argument(), argument()
  for j = 1, #kind.names do
    entry.deltas[j] = tonumber(argument())
  end
  if #entry.deltas ~= #kind.names then
    return redis.error_reply('ERR fold: bad arguments')
  end
  batch[#batch + 1] = entry
end

local before = tonumber(meta[4])
local change = before
local lines = {}
for _, entry in ipairs(batch) do
  local held = redis.call('HMGET', entry.key, unpack(entry.kind.fields))
  if held[1] ~= epoch then
    if held[1] then
      redis.call('DEL', entry.key) -- counters of another epoch count as absent
    end
    held = {}
  end
  change = change + 1
  local writes = { 'epoch', epoch, 'v', integer(change), '^' .. source, entry.last }
  local function write(field, value)
    writes[#writes + 1] = field
    writes[#writes + 1] = value
  end
  if not held[2] then
    write('~' .. source, entry.after)
    write('marks', integer(tonumber(held[3] or '0') + 1))
  end
  local values = {}
  for j, name in ipairs(entry.kind.names) do
    local total, pending, delta = held[2 * j + 2], held[2 * j + 3], entry.deltas[j]
    if delta ~= 0 then
      write('+' .. name, integer(tonumber(pending or '0') + delta))
      if total then
        total = integer(tonumber(total) + delta)
        write(name, total)
      end
    end
    values[j] = total or nil
  end
  redis.call('HSET', entry.key, unpack(writes))
  if not held[2] then
    redis.call('PERSIST', entry.key) -- what is pending must not expire
  end
  local known = #entry.kind.names
  for j = 1, known do
    if not values[j] then
      values = { '?' }
      break
    end
  end
  lines[#lines + 1] = entry.entity .. ' ' .. integer(change) .. ' ' .. table.concat(values, ' ')
end

redis.call('HSET', KEYS[1], 'w:' .. source, to, 'seq', integer(change), 'fence:' .. source, ARGV[5])
publish(KEYS[2], epoch, before, change, source, to, lines)
return { 'done' }

-- Fold one batch of a source shard's log into the counters of one target shard, exactly once, and publish the totals
-- that change.
-- KEYS[1]   meta     hash     of the target shard
-- KEYS[2]   channel  pub/sub  of the target shard
-- KEYS[3…]  counters hash     one per entity
-- ARGV[1]   source   shard whose log this is
-- ARGV[2]   from     offset up to which the target must have folded that log
-- ARGV[3]   to       offset up to which it has folded afterwards
-- ARGV[4]   epoch    of the target's counters
-- ARGV[5]   fence    of the source's owner
-- ARGV[6]   kinds    how many kinds of entities follow
-- then for each kind:    number of the counters that move, at least one; their names
-- then for each entity:  position of its kind (from 1), entity, one difference per counter
-- Returns   {"done"}
--           {"no_meta"}             the target is not recovered; nothing written, here and below
--           {"other_epoch", epoch}  the target was reset
--           {"fenced"}              the source has a newer owner
--           {"moved", offset}       the target has folded up to there
local source, from, to, epoch, fence = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])

local meta = redis.call('HMGET', KEYS[1], 'epoch', 'fence:' .. source, 'folded:' .. source, 'change')
if not meta[1] then
  return { 'no_meta' }
elseif meta[1] ~= epoch then
  return { 'other_epoch', meta[1] }
elseif tonumber(meta[2] or '0') > fence then
  return { 'fenced' }
elseif meta[3] ~= from then
  return { 'moved', meta[3] or '' }
end

-- One flat list, because a table per entity would cost time: for each entity its kind, the entity, then a difference
-- for each counter of the kind. All arguments are read before anything is written.
local argument = arguments_after(6)
local kinds = {}
for i = 1, tonumber(ARGV[6]) do
  local names, fields = {}, { 'epoch', 'load' }
  for j = 1, tonumber(argument()) do
    names[j] = argument()
    fields[2 + j] = names[j]
  end
  kinds[i] = { names = names, fields = fields }
end
local batch = {}
for _ = 3, #KEYS do
  local kind, at = kinds[tonumber(argument())], #batch
  batch[at + 1], batch[at + 2] = kind, argument()
  for j = 1, #kind.names do
    batch[at + 2 + j] = tonumber(argument()) or error('a difference is missing')
  end
end

local call = redis.call
local before = tonumber(meta[4])
-- `writes` is one table for all entities: only its first values belong to the present one.
local change, lines, writes, at = before, {}, { 'v' }, 1
for i = 3, #KEYS do
  local key, kind, entity = KEYS[i], batch[at], batch[at + 1]
  local names = kind.names
  local held = call('HMGET', key, unpack(kind.fields))
  change = change + 1
  local number, last = integer(change), 2
  local line, is_held = entity .. ' ' .. number, held[1] == epoch
  writes[2] = number
  for j = 1, #names do
    local total, difference = held[2 + j], batch[at + 1 + j]
    is_held = is_held and total
    if is_held and difference ~= 0 then
      total = integer(total + difference)
      writes[last + 1], writes[last + 2] = names[j], total
      last = last + 2
      line = line .. ' ' .. names[j] .. '=' .. total
    end
  end
  -- What is not held is loaded when somebody reads it: the load finds these events in the log.
  if is_held then
    call('HSET', key, unpack(writes, 1, last))
  end
  lines[#lines + 1] = is_held and not held[2] and line or entity .. ' ' .. number .. ' ?'
  at = at + 2 + #names
end

redis.call('HSET', KEYS[1], 'folded:' .. source, to, 'change', integer(change), 'fence:' .. source, ARGV[5])
publish(KEYS[2], epoch, before, change, source, to, lines)
return { 'done' }

-- Fold batches of source shards' logs into the counters of one target shard, exactly once, and publish the totals that
-- change.
-- KEYS[1]   meta     hash     of the target shard
-- KEYS[2]   channel  pub/sub  of the target shard
-- KEYS[3…]  counters hash     one per entity
-- ARGV[1]   epoch    of the target's counters
-- ARGV[2]   logs     how many logs follow
-- then for each log:     source shard, fence of its owner, offset up to which the target must have folded it, and up to
--                        which it has folded it afterwards; 1 if replicas have the log up to there, else 0
-- then                   how many kinds of entities follow
-- then for each kind:    number of the counters that move, at least one; their names
-- then for each entity:  position of its kind (from 1), entity, one difference per counter
-- Returns   {"done"}
--           {"no_meta"}         the target is not recovered; nothing written, here and below
--           {"other_epoch"}     the target was reset
--           {"fenced"}          a source has a newer owner
--           {"moved", source}   the target has folded that log up to another offset
local argument = arguments_after(2)
local logs, fields = {}, { 'epoch', 'change', 'redis_history' }
for i = 1, tonumber(ARGV[2]) do
  local source = argument()
  logs[i] = { source = source, fence = argument(), from = argument(), to = argument(), replicated = argument() }
  fields[2 * i + 2], fields[2 * i + 3] = 'fence:' .. source, 'folded:' .. source
end

local meta = redis.call('HMGET', KEYS[1], unpack(fields))
if not (meta[1] and is_verified(meta[3])) then
  return { 'no_meta' }
elseif meta[1] ~= ARGV[1] then
  return { 'other_epoch' }
end
for i, log in ipairs(logs) do
  local fence, folded = meta[2 * i + 2], meta[2 * i + 3]
  if tonumber(fence or '0') > tonumber(log.fence) then
    return { 'fenced' }
  elseif folded ~= log.from then
    return { 'moved', log.source }
  end
end

-- One flat list, because a table per entity would cost time: for each entity its kind, the entity, then a difference
-- for each counter of the kind. All arguments are read before anything is written.
local kinds = {}
for i = 1, tonumber(argument()) do
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
local epoch, before = ARGV[1], tonumber(meta[2])
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

local positions = { 'change', integer(change) }
for i, log in ipairs(logs) do
  local last = 4 * i - 2
  positions[last + 1], positions[last + 2] = 'fence:' .. log.source, log.fence
  positions[last + 3], positions[last + 4] = 'folded:' .. log.source, log.to
  lines[#lines + 1] = 'folded ' .. log.source .. ' ' .. log.to .. (log.replicated == '1' and ' replicated' or '')
end
call('HSET', KEYS[1], unpack(positions))
publish(KEYS[2], epoch, before, change, lines)
return { 'done' }

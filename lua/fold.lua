-- Fold batches of source shards' logs into the counters of target shards, exactly once, and publish the totals that
-- change. A call for several targets does what a call for each of them would do, one after the other.
-- KEYS      for each target:
--           meta     hash     of the target shard
--           channel  pub/sub  of the target shard
--           counters hash     one per entity
-- ARGV[1]   targets  how many follow
-- ARGV[2]   kinds    how many kinds of entities follow
-- for each kind:         number of the counters that move, at least one; their names
-- for each target:       epoch of its counters; how many logs and entities follow
-- then for each log:     source shard, fence of its owner, offset up to which the target must have folded it, and up to
--                        which it has folded it afterwards; the replication id of the Redis that has the log, if
--                        replicas have all of it up to there, or ""
-- then for each entity:  position of its kind (from 1), entity, one difference per counter
-- Returns   for each target one of
--           {"done"}
--           {"no_meta"}         the target is not recovered; nothing written for it, here and below
--           {"other_epoch"}     the target was reset
--           {"fenced"}          a source has a newer owner
--           {"moved", source}   the target has folded that log up to another offset
local argument = arguments_after(2)
local call = redis.call
local next_key = 0

local function key()
  next_key = next_key + 1
  return KEYS[next_key] or error('a key is missing')
end

local kinds = {}
for i = 1, tonumber(ARGV[2]) do
  local names, fields = {}, { 'epoch', 'load' }
  for j = 1, tonumber(argument()) do
    names[j] = argument()
    fields[2 + j] = names[j]
  end
  kinds[i] = { names = names, fields = fields }
end

-- Logs and entities are flat lists, because a table for each would cost time. Five values per log, as they are passed. Per
-- entity its key, its kind, its name, then a difference for each counter of the kind.
local function read_target()
  local target = { meta = key(), channel = key(), epoch = argument() }
  local logs, fields, batch = {}, { 'epoch', 'change', 'redis_history' }, {}
  local log_count, entities = tonumber(argument()), tonumber(argument())
  for i = 1, 5 * log_count, 5 do
    local source = argument()
    logs[i], logs[i + 1], logs[i + 2], logs[i + 3], logs[i + 4] =
      source, argument(), argument(), argument(), argument()
    local at = #fields
    fields[at + 1], fields[at + 2] = 'folded:' .. source, 'fence:' .. source
  end
  for _ = 1, entities do
    local kind, at = kinds[tonumber(argument())], #batch
    batch[at + 1], batch[at + 2], batch[at + 3] = key(), kind, argument()
    for j = 1, #kind.names do
      batch[at + 3 + j] = tonumber(argument()) or error('a difference is missing')
    end
  end
  target.logs, target.fields, target.batch = logs, fields, batch
  return target
end

-- Asks Redis once for all targets, whose shards were recovered under the same replication id.
local verified = {}
local function is_verified_once(replication_id)
  if replication_id and verified[replication_id] == nil then
    verified[replication_id] = is_verified(replication_id) and true or false
  end
  return replication_id and verified[replication_id]
end

-- Why the batch is refused; nil if it is not. `meta`: the target's fields, two per log from the fourth on.
local function refusal(target, meta)
  if not (meta[1] and is_verified_once(meta[3])) then
    return { 'no_meta' }
  elseif meta[1] ~= target.epoch then
    return { 'other_epoch' }
  end
  local logs, field = target.logs, 4
  for at = 1, #logs, 5 do
    if tonumber(meta[field + 1] or '0') > tonumber(logs[at + 1]) then
      return { 'fenced' }
    elseif meta[field] ~= logs[at + 2] then
      return { 'moved', logs[at] }
    end
    field = field + 2
  end
end

-- Adds the differences to counters, and to the message a line for each entity. Returns the number of the last change.
local function add_differences(target, change, lines)
  -- `writes` is one table for all entities: only its first values belong to the present one.
  local epoch, batch, writes, at = target.epoch, target.batch, { 'v' }, 1
  while at <= #batch do
    local counters, kind, entity = batch[at], batch[at + 1], batch[at + 2]
    local names = kind.names
    local held = call('HMGET', counters, unpack(kind.fields))
    change = change + 1
    local number, last = integer(change), 2
    local line, is_held = entity .. ' ' .. number, held[1] == epoch
    writes[2] = number
    for j = 1, #names do
      local total, difference = held[2 + j], batch[at + 2 + j]
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
      call('HSET', counters, unpack(writes, 1, last))
    end
    lines[#lines + 1] = is_held and not held[2] and line or entity .. ' ' .. number .. ' counts'
    at = at + 3 + #names
  end
  return change
end

-- Moves the target's positions in the logs, and adds a line for each to the message.
local function move_positions(target, meta, change, lines)
  local positions, logs, fields, field = { 'change', integer(change) }, target.logs, target.fields, 4
  for i = 1, #logs, 5 do
    local last, fence, to = #positions, logs[i + 1], logs[i + 3]
    positions[last + 1], positions[last + 2] = fields[field], to
    if meta[field + 1] ~= fence then
      positions[last + 3], positions[last + 4] = fields[field + 1], fence
    end
    field = field + 2
    lines[#lines + 1] = 'folded ' .. logs[i] .. ' ' .. to .. (logs[i + 4] ~= '' and ' ' .. logs[i + 4] or '')
  end
  call('HSET', target.meta, unpack(positions))
end

local function fold(target)
  local meta = call('HMGET', target.meta, unpack(target.fields))
  local refused = refusal(target, meta)
  if refused then
    return refused
  end
  local before, lines = tonumber(meta[2]), {}
  local change = add_differences(target, before, lines)
  move_positions(target, meta, change, lines)
  publish(target.channel, target.epoch, before, change, lines)
  return { 'done' }
end

-- All arguments are read before anything is written.
local targets = {}
for i = 1, tonumber(ARGV[1]) do
  targets[i] = read_target()
end
for i, target in ipairs(targets) do
  targets[i] = fold(target)
end
return targets

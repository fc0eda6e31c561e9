-- Reading a batch's arguments, and the counters that it is applied to. Put before the scripts that take
-- batches of one source shard.

-- The kinds of entities in the batch: number of counters, then their names, for each kind. A kind's fields
-- are those of its hashes that concern this source: its marks, then each counter's total and pending part.
local function read_kinds(argument, count, source)
  local kinds = {}
  for i = 1, count do
    local names, fields = {}, { 'epoch', '~' .. source, '^' .. source, 'marks' }
    for j = 1, tonumber(argument()) do
      names[j] = argument()
      fields[#fields + 1] = names[j]
      fields[#fields + 1] = '+' .. names[j]
    end
    kinds[i] = { names = names, fields = fields }
  end
  return kinds
end

-- One difference per counter of the kind. Fails, before anything is written, when one is missing.
local function read_deltas(argument, kind)
  local deltas = {}
  for j = 1, #kind.names do
    deltas[j] = tonumber(argument()) or error('a difference is missing')
  end
  return deltas
end

-- What a hash holds; nothing when it is of another epoch.
local function read_counters(key, kind, epoch)
  local held = redis.call('HMGET', key, unpack(kind.fields))
  if held[1] ~= epoch then
    return { is_of_another_epoch = held[1], marks = 0, totals = {}, pending = {} }
  end
  local counters = { first = held[2], last = held[3], marks = tonumber(held[4] or '0'), totals = {}, pending = {} }
  for j = 1, #kind.names do
    counters.totals[j] = held[2 * j + 3] or nil
    counters.pending[j] = tonumber(held[2 * j + 4] or '0')
  end
  return counters
end

-- Reading a batch's arguments, and the counters that it is applied to. Put before the scripts that take
-- batches of one source shard.

-- Positions of the fields that a script reads of a counters hash: its epoch; the low and high watermark of this source's
-- pending overlay; the number of sources that have an overlay; then each counter's total and pending part.
local EPOCH, LOW_WATERMARK, HIGH_WATERMARK, SOURCES, FIRST_TOTAL, FIRST_PENDING = 1, 2, 3, 4, 5, 6
local FIELDS_PER_COUNTER = 2

-- The kinds of entities in the batch: number of counters, then their names, for each kind.
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
  if held[EPOCH] ~= epoch then
    return { is_of_another_epoch = held[EPOCH], sources = 0, totals = {}, pending = {} }
  end
  local counters = {
    low_watermark = held[LOW_WATERMARK],
    sources = tonumber(held[SOURCES] or '0'),
    totals = {},
    pending = {},
  }
  local at = FIRST_TOTAL
  for j = 1, #kind.names do
    counters.totals[j] = held[at] or nil
    counters.pending[j] = tonumber(held[at + 1] or '0')
    at = at + FIELDS_PER_COUNTER
  end
  return counters
end

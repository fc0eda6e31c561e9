-- Reading a batch's arguments. Put before the scripts that take batches of one source shard.

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

-- A batch is in PostgreSQL: flips of some actors in it move from the pending ones to the cached sets. Notes that
-- flips up to there may be gone, so that no older answer of SQL is believed, whatever becomes of this batch's clean.
-- KEYS[1]  meta     hash    of the actors' shard
-- then for each actor:
--          pending  hash
--          for each edge kind of it in the batch:
--          edges    set
--          floor    string  of the same kind
-- ARGV[1]  source   the shard
-- ARGV[2]  fence    of its owner
-- ARGV[3]  to       offset up to which the log is persisted
-- ARGV[4]  most     members that a set may have; a larger one is dropped and loaded anew, truncated
-- then for each actor:  number of kinds, for each kind:
--          1 if its set is dropped, because a flip in the batch made no row, else 0; number of flips;
--          for each flip: field in the pending hash, target id
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
local call, match = redis.call, string.match

-- Where the actors' arguments begin and end: counted before anything is written, so that none is missing.
local actors, at, key = {}, 5, 2
while key <= #KEYS do
  actors[#actors + 1] = at
  local kinds = tonumber(ARGV[at])
  at, key = at + 1, key + 1
  for _ = 1, kinds do
    at, key = at + 2 + 2 * tonumber(ARGV[at + 1]), key + 2
  end
end
if at ~= #ARGV + 1 or key ~= #KEYS + 1 then
  error('arguments and keys do not fit')
end

local complete = '-' .. string.format('%.0f', 2 * tonumber(generation))
local truncated = '-' .. string.format('%.0f', 2 * tonumber(generation) + 1)
local to_generation, to_number = parts(to)

local function drop(set, floor_key)
  call('UNLINK', set, floor_key)
end

-- Takes persisted flips out of the pending ones. Returns those of this generation by what they do to the set.
local function take_pending(pending, fields, targets)
  local gone, on, off = {}, {}, {}
  for i, flip in ipairs(call('HMGET', pending, unpack(fields))) do
    if flip then
      local state, flip_generation, number = match(flip, '^([01]):(%d+)%-(%d+)')
      local of = tonumber(flip_generation)
      if of < to_generation or (of == to_generation and tonumber(number) <= to_number) then
        gone[#gone + 1] = fields[i]
        if flip_generation == generation then
          local switched = state == '1' and on or off
          switched[#switched + 1] = targets[i]
        end
      end
    end
  end
  if #gone > 0 then
    call('HDEL', pending, unpack(gone))
  end
  return on, off
end

-- Puts flips into a set that is there: below the floor of a truncated one only what is switched off.
local function put_into(set, floor_key, switched_on, switched_off)
  local marker = call('SMISMEMBER', set, complete, truncated)
  local floor = marker[2] == 1 and call('GET', floor_key)
  if marker[1] == 0 and not floor then
    return
  end
  local on = switched_on
  if floor then
    on = {}
    for _, target in ipairs(switched_on) do
      if tonumber(target) >= tonumber(floor) then
        on[#on + 1] = target
      end
    end
  end
  if #switched_off > 0 then
    call('SREM', set, unpack(switched_off))
  end
  if #on > 0 then
    call('SADD', set, unpack(on))
    if call('SCARD', set) > most then
      drop(set, floor_key)
    end
  end
end

if not (meta[3] and at_most(to, meta[3])) then
  call('HSET', KEYS[1], 'gone', to)
end
key = 2
for _, first in ipairs(actors) do
  local pending = KEYS[key]
  key, at = key + 1, first + 1
  for _ = 1, tonumber(ARGV[first]) do
    local is_dropped, flips, fields, targets = ARGV[at] == '1', tonumber(ARGV[at + 1]), {}, {}
    for i = 1, flips do
      fields[i], targets[i] = ARGV[at + 2 * i], ARGV[at + 2 * i + 1]
    end
    local on, off = take_pending(pending, fields, targets)
    if is_dropped then
      drop(KEYS[key], KEYS[key + 1])
    elseif #on > 0 or #off > 0 then
      put_into(KEYS[key], KEYS[key + 1], on, off)
    end
    at, key = at + 2 + 2 * flips, key + 2
  end
end
return { 'done' }

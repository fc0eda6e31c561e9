-- Retire the flips of a persisted batch: flips of some of its actors move from the pending overlay into the cached
-- sets. "members_retiring" records first up to where flips may have left the overlay: an older answer of SQL is then
-- refused, even if this batch is never retired to its end.
-- KEYS[1]  meta     hash    of the actors' shard
-- then for each actor:
--          pending  hash
--          for each edge kind of the actor in the batch:
--          edges    set
--          floor    string  of the same kind
-- ARGV[1]  source   the shard
-- ARGV[2]  fence    of its owner
-- ARGV[3]  to       offset up to which the log is persisted
-- ARGV[4]  most     members that a set may have; a larger one is deleted, and loaded again truncated
-- then for each actor:  number of kinds, for each kind:
--          1 if its set is invalidated, because a flip in the batch made no row, else 0; number of flips;
--          for each flip: field in the pending hash, target id
-- Returns  {"done"}
--          {"no_meta"}  the shard is not recovered; nothing written, here and below
--          {"fenced"}   the shard has a newer owner
local meta = redis.call('HMGET', KEYS[1], 'generation', 'fence:' .. ARGV[1], 'members_retiring')
local generation = meta[1]
if not generation then
  return { 'no_meta' }
elseif tonumber(meta[2] or '0') > tonumber(ARGV[2]) then
  return { 'fenced' }
end

local to, most = ARGV[3], tonumber(ARGV[4])
local call, match = redis.call, string.match

-- Arguments of a kind before its flips, arguments of a flip, keys of a kind.
local KIND_ARGUMENTS, FLIP_ARGUMENTS, KIND_KEYS = 2, 2, 2

-- Where each actor's arguments begin. Counted before anything is written, so that no argument or key is missing.
local actors, at, key = {}, 5, 2
while key <= #KEYS do
  actors[#actors + 1] = at
  local kinds = tonumber(ARGV[at])
  at, key = at + 1, key + 1
  for _ = 1, kinds do
    local flips = tonumber(ARGV[at + 1])
    at, key = at + KIND_ARGUMENTS + FLIP_ARGUMENTS * flips, key + KIND_KEYS
  end
end
if at ~= #ARGV + 1 or key ~= #KEYS + 1 then
  error('arguments and keys do not fit')
end

local complete = '-' .. string.format('%.0f', 2 * tonumber(generation))
local truncated = '-' .. string.format('%.0f', 2 * tonumber(generation) + 1)
local to_generation, to_number = parts(to)

local function delete_set(set, floor_key)
  call('UNLINK', set, floor_key)
end

-- Removes persisted flips from a pending hash. Returns the targets that flips of this generation switched on, and off.
local function take_pending(pending, fields, targets)
  local taken, on, off = {}, {}, {}
  for i, flip in ipairs(call('HMGET', pending, unpack(fields))) do
    if flip then
      local state, flip_generation, number = match(flip, '^([01]):(%d+)%-(%d+)')
      local of = tonumber(flip_generation)
      if of < to_generation or (of == to_generation and tonumber(number) <= to_number) then
        taken[#taken + 1] = fields[i]
        if flip_generation == generation then
          local switched = state == '1' and on or off
          switched[#switched + 1] = targets[i]
        end
      end
    end
  end
  if #taken > 0 then
    call('HDEL', pending, unpack(taken))
  end
  return on, off
end

-- Applies flips to a cached set, if there is one. A truncated set takes no target below its floor.
local function apply_to_set(set, floor_key, switched_on, switched_off)
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
      delete_set(set, floor_key)
    end
  end
end

if not (meta[3] and at_most(to, meta[3])) then
  call('HSET', KEYS[1], 'members_retiring', to)
end
key = 2
for _, first in ipairs(actors) do
  local pending = KEYS[key]
  key, at = key + 1, first + 1
  for _ = 1, tonumber(ARGV[first]) do
    local is_invalidated, flips, fields, targets = ARGV[at] == '1', tonumber(ARGV[at + 1]), {}, {}
    at = at + KIND_ARGUMENTS
    for i = 1, flips do
      fields[i], targets[i] = ARGV[at], ARGV[at + 1]
      at = at + FLIP_ARGUMENTS
    end
    local set, floor_key = KEYS[key], KEYS[key + 1]
    key = key + KIND_KEYS
    local on, off = take_pending(pending, fields, targets)
    if is_invalidated then
      delete_set(set, floor_key)
    elseif #on > 0 or #off > 0 then
      apply_to_set(set, floor_key, on, off)
    end
  end
end
return { 'done' }

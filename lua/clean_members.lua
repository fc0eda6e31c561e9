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
local argument, key = arguments_after(4), 1
local function next_key()
  key = key + 1
  return KEYS[key]
end
local actors = {}
while key < #KEYS do
  local actor = { pending = next_key(), fields = {}, flips = {} }
  for _ = 1, tonumber(argument()) do
    local set = { key = next_key(), floor_key = next_key(), dropped = argument() == '1', on = {}, off = {} }
    for _ = 1, tonumber(argument()) do
      actor.fields[#actor.fields + 1] = argument()
      actor.flips[#actor.flips + 1] = { set = set, target = argument() or error('a target is missing') }
    end
    actor[#actor + 1] = set
  end
  actors[#actors + 1] = actor
end

local complete = '-' .. string.format('%.0f', 2 * tonumber(generation))
local truncated = '-' .. string.format('%.0f', 2 * tonumber(generation) + 1)

-- Takes persisted flips out of the pending ones, and sorts those of this generation by what they do to sets.
local function take_pending(actor)
  local gone = {}
  for i, pending in ipairs(redis.call('HMGET', actor.pending, unpack(actor.fields))) do
    local state, offset
    if pending then
      state, offset = string.match(pending, '^([01]):(%d+%-%d+)')
    end
    if pending and at_most(offset, to) then
      gone[#gone + 1] = actor.fields[i]
      if string.match(offset, '^%d+') == generation then
        local flip = actor.flips[i]
        local targets = state == '1' and flip.set.on or flip.set.off
        targets[#targets + 1] = flip.target
      end
    end
  end
  if #gone > 0 then
    redis.call('HDEL', actor.pending, unpack(gone))
  end
end

local function drop(set)
  redis.call('UNLINK', set.key, set.floor_key)
end

-- Puts flips into a set that is there: below the floor of a truncated one only what is switched off.
local function put_into(set)
  local marker = redis.call('SMISMEMBER', set.key, complete, truncated)
  local floor = marker[2] == 1 and redis.call('GET', set.floor_key)
  if marker[1] == 0 and not floor then
    return
  end
  local on = {}
  for _, target in ipairs(set.on) do
    if not floor or tonumber(target) >= tonumber(floor) then
      on[#on + 1] = target
    end
  end
  if #set.off > 0 then
    redis.call('SREM', set.key, unpack(set.off))
  end
  if #on > 0 then
    redis.call('SADD', set.key, unpack(on))
    if redis.call('SCARD', set.key) > most then
      drop(set)
    end
  end
end

if not (meta[3] and at_most(to, meta[3])) then
  redis.call('HSET', KEYS[1], 'gone', to)
end
for _, actor in ipairs(actors) do
  take_pending(actor)
  for _, set in ipairs(actor) do
    if set.dropped then
      drop(set)
    elseif #set.on > 0 or #set.off > 0 then
      put_into(set)
    end
  end
end
return { 'done' }

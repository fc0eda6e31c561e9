-- Read whether edges of one actor are on.
-- KEYS[1]  meta     hash  of the actor's shard
-- KEYS[2]  pending  hash  the actor's flips that are not retired
-- then for each edge kind:
--          edges    set
--          floor    string  lowest target id of a truncated set
-- ARGV     for each edge kind:  its name, the number of targets, their ids
-- Returns  {"done", retired, states}
--                       retired  offset up to which flips may have left the pending overlay: rows that are read from
--                                SQL must not be older
--                       states   one character per target: 1 on, 0 off, s the set must be loaded first, r the row of
--                                this edge must be read from SQL, because a truncated set has only higher ids
--          {"no_meta"}  the shard is not recovered
local call = redis.call
local meta = call('HMGET', KEYS[1], 'generation', 'members_retiring', 'redis_history')
local generation, retired = meta[1], meta[2]
if not (generation and retired and is_verified(meta[3])) then
  return { 'no_meta' }
end
-- The sets' markers. Formatted as integers: redis.call formats numbers as fractions, which takes longer.
local complete = string.format('-%d', 2 * generation)
local truncated = string.format('-%d', 2 * generation + 1)

-- The state of an edge below the floor of its set.
local function state_below_floor(kind, target)
  local flip = call('HGET', KEYS[2], kind .. ':' .. target)
  local state, of = string.match(flip or '', '^([01]):(%d+)%-')
  return of == generation and state or 'r'
end

-- Lua formats a number each time that it joins one to a text.
local text_of = { [0] = '0', [1] = '1' }
local states, at, key = {}, 1, 3
while key <= #KEYS do
  local kind, first = ARGV[at], at + 2
  local last = at + 1 + tonumber(ARGV[at + 1])
  local held = call('SMISMEMBER', KEYS[key], complete, truncated, unpack(ARGV, first, last))
  -- A truncated set whose floor has expired cannot be used.
  local floor = held[2] == 1 and tonumber(call('GET', KEYS[key + 1]) or nil)
  local is_complete, is_absent = held[1] == 1, held[1] == 0 and not floor
  for i = 3, #held do
    if is_complete then
      held[i] = text_of[held[i]]
    elseif is_absent then
      held[i] = 's'
    else
      local target = ARGV[first + i - 3]
      held[i] = tonumber(target) < floor and state_below_floor(kind, target) or text_of[held[i]]
    end
  end
  states[#states + 1] = table.concat(held, '', 3)
  at, key = last + 1, key + 2
end
return { 'done', retired, table.concat(states) }

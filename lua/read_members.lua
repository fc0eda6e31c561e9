-- Read whether edges of one actor are on: from the pending overlay, else from the cached sets.
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
local meta = call('HMGET', KEYS[1], 'generation', 'members_retiring')
local generation, retired = meta[1], meta[2]
if not (generation and retired) then
  return { 'no_meta' }
end
local complete = '-' .. string.format('%.0f', 2 * tonumber(generation))
local truncated = '-' .. string.format('%.0f', 2 * tonumber(generation) + 1)
local has_pending = call('EXISTS', KEYS[2]) == 1

-- Puts the states of pending flips into `states`. A flip of an earlier generation is persisted and does not count.
local function overlay(states, before, kind, first, last)
  local fields = {}
  for i = first, last do
    fields[i - first + 1] = kind .. ':' .. ARGV[i]
  end
  for i, flip in ipairs(call('HMGET', KEYS[2], unpack(fields))) do
    if flip then
      local state, of = string.match(flip, '^([01]):(%d+)%-')
      if of == generation then
        states[before + i] = state
      end
    end
  end
end

local states, at, key = {}, 1, 3
while key <= #KEYS do
  local kind, first = ARGV[at], at + 2
  local last = at + 1 + tonumber(ARGV[at + 1])
  local held = call('SMISMEMBER', KEYS[key], complete, truncated, unpack(ARGV, first, last))
  local is_complete = held[1] == 1
  -- A truncated set whose floor has expired cannot be used.
  local floor = held[2] == 1 and tonumber(call('GET', KEYS[key + 1]) or nil)
  local before = #states
  for i = first, last do
    local is_member = held[i - first + 3] == 1
    local state = 's'
    if is_complete or floor then
      if is_member then
        state = '1'
      elseif is_complete or tonumber(ARGV[i]) >= floor then
        state = '0'
      else
        state = 'r'
      end
    end
    states[before + i - first + 1] = state
  end
  if has_pending then
    overlay(states, before, kind, first, last)
  end
  at, key = last + 1, key + 2
end
return { 'done', retired, table.concat(states) }

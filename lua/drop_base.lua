-- Entities of one shard changed in PostgreSQL: forget their loaded totals and texts, and say "unknown".
-- KEYS[1]  meta      hash     of the shard
-- KEYS[2]  channel   pub/sub  of the shard
-- KEYS[3, 6, …]      counters hash   one per entity
-- KEYS[4, 7, …]      load token string of the same entity
-- KEYS[5, 8, …]      body     string  cached text of the same entity
-- ARGV[1]  guard     ms for which the change is marked: longer than any read takes, so that nobody caches text
--                    that was read before the change
-- then for each entity:  entity, 1 if there may be a text of it, else 0; number of its counters, their names
-- Returns  {"done", epoch, change}  the last change that says "unknown"
--          {"no_meta"}              the shard is not verified; nothing written
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'seq')
if not meta[1] then
  return { 'no_meta' }
end

local epoch, before = meta[1], tonumber(meta[2])

-- Whether any of the counters from one key on is held. Most are not, such as inboxes that nobody looks at, and asking
-- for many at once costs little more than asking for one.
local AT_ONCE = 50
local function any_held(first)
  local keys = {}
  for i = first, math.min(first + 3 * (AT_ONCE - 1), #KEYS), 3 do
    keys[#keys + 1] = KEYS[i]
  end
  return redis.call('EXISTS', unpack(keys)) > 0
end

-- Takes the base of an entity; what is pending stays.
local function forget(counters, change, first_name, last_name)
  local held = redis.call('HMGET', counters, 'epoch', 'marks')
  if held[1] == epoch and tonumber(held[2] or '0') > 0 then
    redis.call('HDEL', counters, unpack(ARGV, first_name, last_name))
    redis.call('HSET', counters, 'v', change)
  else
    redis.call('UNLINK', counters)
  end
end

local number, at, lines, tokens, change, may_be_held = before, 2, {}, {}, meta[2], false
for i = 3, #KEYS, 3 do
  number = number + 1
  change = integer(number)
  local names = at + 3
  local next_entity = names + tonumber(ARGV[at + 2])
  if #tokens % AT_ONCE == 0 then
    may_be_held = any_held(i)
  end
  if may_be_held then
    forget(KEYS[i], change, names, next_entity - 1)
  end
  tokens[#tokens + 1] = KEYS[i + 1]
  if ARGV[at + 1] == '1' then
    redis.call('SET', KEYS[i + 2], 'changed ' .. epoch .. '-' .. change, 'PX', ARGV[1])
  end
  lines[#lines + 1] = ARGV[at] .. ' ' .. change .. ' ?'
  at = next_entity
end
delete_all(tokens) -- a load that read before the change must not install
redis.call('HSET', KEYS[1], 'seq', change)
publish(KEYS[2], epoch, before, number, '-', '-', lines)
return { 'done', epoch, change }

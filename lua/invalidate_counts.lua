-- Invalidate entities of one shard that changed in PostgreSQL: delete their base totals and cached texts, and publish
-- each one as invalidated. The pending overlay stays.
-- KEYS[1]  meta      hash     of the shard
-- KEYS[2]  channel   pub/sub  of the shard
-- KEYS[3, 6, …]      counters hash   one per entity
-- KEYS[4, 7, …]      load token string of the same entity
-- KEYS[5, 8, …]      cached   string  text of the same entity
-- ARGV[1]  guard     ms for which the invalidation is marked in the entity cache: longer than any read takes, so that
--                    no text that was read before the change is cached
-- then for each entity:  entity, 1 if it may have a text, else 0; number of its counters, their names
-- Returns  {"done", epoch, change}  number of the last change that was published
--          {"no_meta"}              the shard is not recovered; nothing written
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'change')
if not meta[1] then
  return { 'no_meta' }
end

local epoch, before = meta[1], tonumber(meta[2])
local KEYS_PER_ENTITY = 3

-- Whether any counters of the next entities are held, from one key on. Most are not, such as inboxes that nobody
-- watches, and one EXISTS of many keys costs little more than one of a single key.
local AT_ONCE = 50
local function any_held(first)
  local keys = {}
  for i = first, math.min(first + KEYS_PER_ENTITY * (AT_ONCE - 1), #KEYS), KEYS_PER_ENTITY do
    keys[#keys + 1] = KEYS[i]
  end
  return redis.call('EXISTS', unpack(keys)) > 0
end

-- Deletes the totals of an entity, whose counters' names are arguments; the pending overlay stays.
local function delete_totals(counters, change, first_name, last_name)
  local held = redis.call('HMGET', counters, 'epoch', 'marks')
  if held[1] == epoch and tonumber(held[2] or '0') > 0 then
    redis.call('HDEL', counters, unpack(ARGV, first_name, last_name))
    redis.call('HSET', counters, 'v', change)
  else
    redis.call('UNLINK', counters)
  end
end

local number, at, lines, tokens, change, may_be_held = before, 2, {}, {}, meta[2], false
for i = 3, #KEYS, KEYS_PER_ENTITY do
  local counters, token, cached = KEYS[i], KEYS[i + 1], KEYS[i + 2]
  local entity, has_text, first_name = ARGV[at], ARGV[at + 1] == '1', at + 3
  local next_entity = first_name + tonumber(ARGV[at + 2])
  number = number + 1
  change = integer(number)
  if #tokens % AT_ONCE == 0 then
    may_be_held = any_held(i)
  end
  if may_be_held then
    delete_totals(counters, change, first_name, next_entity - 1)
  end
  tokens[#tokens + 1] = token
  if has_text then
    redis.call('SET', cached, 'changed ' .. epoch .. '-' .. change, 'PX', ARGV[1])
  end
  lines[#lines + 1] = entity .. ' ' .. change .. ' ?'
  at = next_entity
end
delete_all(tokens) -- a load that read SQL before the change must not install
redis.call('HSET', KEYS[1], 'change', change)
publish(KEYS[2], epoch, before, number, '-', '-', lines)
return { 'done', epoch, change }

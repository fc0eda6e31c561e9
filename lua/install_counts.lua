-- Finish a load: add to each counter, which has what was folded since the load began, everything before it.
-- KEYS[1]  meta      hash     of the shard
-- KEYS[2]  channel   pub/sub  of the shard
-- KEYS[3…] counters  hash     one per entity
-- ARGV[1]  token     as given when the load began
-- ARGV[2]  timeline  of PostgreSQL in the statement that read the totals
-- then for each entity:  entity, ms for which its counters are kept, number of its counters,
--                        for each counter: name, total of SQL with the events up to the offset at which the load began
-- Returns  {"done", epoch, {change, value per counter} or {} for each entity}
--                       empty: the entity was invalidated, or expired, since the load began; load again
--          {"refused"}  the shard is not recovered, or PostgreSQL is on another timeline; nothing written
local token, timeline = ARGV[1], ARGV[2]
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'timeline', 'change', 'redis_history')
if not meta[1] or meta[2] ~= timeline or not is_verified(meta[4]) then
  return { 'refused' }
end

-- All arguments are read before anything is written.
local argument, entities = arguments_after(2), {}
for i = 3, #KEYS do
  local entity = { key = KEYS[i], name = argument(), life = argument(), names = {}, bases = {} }
  for j = 1, tonumber(argument()) do
    entity.names[j] = argument()
    entity.bases[j] = tonumber(argument()) or error('a total is missing')
  end
  entities[i - 2] = entity
end

local epoch, before = meta[1], tonumber(meta[3])
local change, lines, installed = before, {}, {}
for i, entity in ipairs(entities) do
  local names = entity.names
  local held = redis.call('HMGET', entity.key, 'epoch', 'load', unpack(names))
  installed[i] = {}
  if held[1] == epoch and held[2] == token then
    change = change + 1
    local number = integer(change)
    local writes, line, values = { 'v', number }, { entity.name, number }, { number }
    for j, name in ipairs(names) do
      local total = integer(entity.bases[j] + tonumber(held[2 + j]))
      writes[#writes + 1], writes[#writes + 2] = name, total
      line[#line + 1], values[#values + 1] = name .. '=' .. total, total
    end
    redis.call('HSET', entity.key, unpack(writes))
    redis.call('HDEL', entity.key, 'load')
    redis.call('PEXPIRE', entity.key, entity.life)
    lines[#lines + 1] = table.concat(line, ' ')
    installed[i] = values
  end
end
if change > before then
  redis.call('HSET', KEYS[1], 'change', integer(change))
  publish(KEYS[2], epoch, before, change, lines)
end
return { 'done', epoch, unpack(installed) }

-- Invalidate entities of one shard that changed in PostgreSQL: delete their counters, also while they are loaded, and
-- their cached texts, and publish each one as invalidated.
-- KEYS[1]  meta      hash     of the shard
-- KEYS[2]  channel   pub/sub  of the shard
-- KEYS[3]  bytes     hash     bytes of the shard's texts
-- KEYS[4, 7, …]      counters hash    one per entity
-- KEYS[5, 8, …]      record   string  the same entity in the entity cache
-- KEYS[6, 9, …]      text     string  the same with its texts
-- ARGV[1]  guard     ms for which the invalidation is marked in the entity cache: longer than any read takes, so that
--                    no text that was read before the change is cached
-- then for each entity:  entity, 1 if it may have a text, else 0
-- Returns  {"done", epoch, change}  number of the last change that was published
--          {"no_meta"}              the shard is not recovered; nothing written
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'change', 'redis_history')
if not (meta[1] and is_verified(meta[3])) then
  return { 'no_meta' }
end

local epoch, before = meta[1], tonumber(meta[2])
local number, argument, lines, counters, change = before, arguments_after(1), {}, {}, meta[2]
for i = 4, #KEYS, 3 do
  local entity, has_text = argument(), argument() == '1'
  number = number + 1
  change = integer(number)
  counters[#counters + 1] = KEYS[i]
  if has_text then
    redis.call('SET', KEYS[i + 1], 'changed ' .. epoch .. '-' .. change, 'PX', ARGV[1])
    forget_text(KEYS[i + 2], KEYS[3])
  end
  lines[#lines + 1] = entity .. ' ' .. change .. ' ?'
end
delete_all(counters)
redis.call('HSET', KEYS[1], 'change', change)
publish(KEYS[2], epoch, before, number, lines)
return { 'done', epoch, change }

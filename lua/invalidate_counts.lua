-- Invalidate entities of one shard that changed in PostgreSQL: delete their counters, also while they are loaded, and
-- what is cached of their rows if these changed, and publish each one as invalidated.
-- KEYS[1]  meta      hash     of the shard
-- KEYS[2]  channel   pub/sub  of the shard
-- KEYS[3]  bytes     hash     bytes of the shard's texts
-- then for each entity, at most 1,000 of them:
--          counters  hash
--          record    string  the entity in the entity cache; given only if its row changed, as the next one
--          text      string  the same with its texts
-- ARGV[1]  guard     ms for which the invalidation is marked in the entity cache: longer than any read takes, so that
--                    no text that was read before the change is cached
-- then for each entity:  entity, 1 if its row changed, 0 if only its totals did
-- Returns  {"done", epoch, change}  number of the last change that was published
--          {"no_meta"}              the shard is not recovered; nothing written
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'change', 'redis_history')
if not (meta[1] and is_verified(meta[3])) then
  return { 'no_meta' }
end

local epoch, before = meta[1], tonumber(meta[2])
local number, argument, lines, counters, change, at = before, arguments_after(1), {}, {}, meta[2], 4
while at <= #KEYS do
  local entity, row_changed = argument(), argument() == '1'
  number = number + 1
  change = integer(number)
  counters[#counters + 1] = KEYS[at]
  if row_changed then
    redis.call('SET', KEYS[at + 1], 'changed ' .. epoch .. '-' .. change, 'PX', ARGV[1])
    forget_text(KEYS[at + 2], KEYS[3])
  end
  at = at + (row_changed and 3 or 1)
  lines[#lines + 1] = entity .. ' ' .. change .. (row_changed and ' ?' or ' counts')
end
redis.call('DEL', unpack(counters))
redis.call('HSET', KEYS[1], 'change', change)
publish(KEYS[2], epoch, before, number, lines)
return { 'done', epoch, change }

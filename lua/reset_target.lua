-- Reset a target shard's counters under a higher epoch: hashes of earlier epochs count as absent. The target keeps how
-- far it has folded each log, so that counts are not behind those that clients saw; it begins at SQL's offset where it
-- is behind that, or where the log has begun another generation.
-- Run with EVAL: recovery works on a Redis process that has no scripts yet.
-- KEYS[1]  meta      hash     of the shard
-- KEYS[2]  channel   pub/sub  of the shard
-- ARGV[1]  epoch     the new one
-- ARGV[2]  timeline  of PostgreSQL
-- then per source shard:  persisted-to offset, fence of its newest owner
-- Returns  {"done"}
--          {"newer", epoch}  the shard has that epoch, or a later one, already; nothing written
local epoch, timeline = ARGV[1], ARGV[2]
local held = redis.call('HGET', KEYS[1], 'epoch')
if held and tonumber(held) >= tonumber(epoch) then
  return { 'newer', held }
end

local function is_of_same_generation(a, b)
  return string.match(a, '^%d+') == string.match(b, '^%d+')
end

local lines = {}
for i = 3, #ARGV, 2 do
  local source, persisted, fence = (i - 3) / 2, ARGV[i], ARGV[i + 1]
  local folded = redis.call('HGET', KEYS[1], 'folded:' .. source)
  if not folded or not is_of_same_generation(folded, persisted) or not at_most(persisted, folded) then
    folded = persisted
  end
  redis.call('HSET', KEYS[1], 'folded:' .. source, folded, 'fence:' .. source, fence)
  lines[#lines + 1] = 'folded ' .. source .. ' ' .. folded
end
redis.call('HSET', KEYS[1], 'epoch', epoch, 'timeline', timeline, 'change', '0')
publish(KEYS[2], epoch, 0, 0, lines)
return { 'done' }

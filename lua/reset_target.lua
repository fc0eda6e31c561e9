-- Reset a target shard's counters under a higher epoch: hashes of earlier epochs count as absent. They are loaded with
-- every log up to its end at the reset, so that counts are not behind those that clients saw.
-- Run with EVAL: recovery works on a Redis process that has no scripts yet.
-- KEYS[1]  meta      hash     of the shard
-- KEYS[2]  channel   pub/sub  of the shard
-- ARGV[1]  epoch     the new one
-- ARGV[2]  timeline  of PostgreSQL
-- then per source shard:  offset up to which the target has its log from now on, fence of the log's newest owner
-- Returns  {"done"}
--          {"newer", epoch}  the shard has that epoch, or a later one, already; nothing written
local epoch, timeline = ARGV[1], ARGV[2]
local held = redis.call('HGET', KEYS[1], 'epoch')
if held and tonumber(held) >= tonumber(epoch) then
  return { 'newer', held }
end

local lines = {}
for i = 3, #ARGV, 2 do
  local source, reached, fence = (i - 3) / 2, ARGV[i], ARGV[i + 1]
  redis.call('HSET', KEYS[1], 'folded:' .. source, reached, 'fence:' .. source, fence)
  lines[#lines + 1] = 'folded ' .. source .. ' ' .. reached
end
redis.call('HSET', KEYS[1], 'epoch', epoch, 'timeline', timeline, 'change', '0')
publish(KEYS[2], epoch, 0, 0, lines)
return { 'done' }

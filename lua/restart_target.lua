-- Begin a target shard's counters anew under a higher epoch: whatever was counted before is absent,
-- and every log is folded and cleaned up to where PostgreSQL has persisted it. What had been folded before
-- was shown to people: "shown" keeps how far, and no totals are given before the folds are there again.
-- Heat is kept, unless something was persisted that had not been folded and never will be.
-- Run with EVAL: it belongs to the verification of a Redis process that has no scripts yet.
-- KEYS[1]  meta      hash     of the shard
-- KEYS[2]  channel   pub/sub  of the shard
-- ARGV[1]  epoch     the new one
-- ARGV[2]  timeline  of PostgreSQL
-- then per source shard:  persisted-to offset, fence of its newest owner
-- Returns  {"done"}
--          {"newer", epoch}  the shard has that epoch already; nothing written
local epoch, timeline = ARGV[1], ARGV[2]
local held = redis.call('HGET', KEYS[1], 'epoch')
if held and tonumber(held) >= tonumber(epoch) then
  return { 'newer', held }
end

local lines, heat_has_gap = {}, false
for i = 3, #ARGV, 2 do
  local source = (i - 3) / 2
  local before = redis.call('HMGET', KEYS[1], 'w:' .. source, 'shown:' .. source)
  local shown = later(later(before[1] or ARGV[i], before[2] or ARGV[i]), ARGV[i])
  heat_has_gap = heat_has_gap or not before[1] or not at_most(ARGV[i], later(before[1], before[2] or before[1]))
  redis.call('HSET', KEYS[1], 'w:' .. source, ARGV[i], 'k:' .. source, ARGV[i], 'shown:' .. source, shown)
  redis.call('HSET', KEYS[1], 'fence:' .. source, ARGV[i + 1])
  lines[#lines + 1] = 'w ' .. source .. ' ' .. ARGV[i]
end
if heat_has_gap then
  redis.call('HDEL', KEYS[1], 'hot')
end
redis.call('HSET', KEYS[1], 'epoch', epoch, 'tl', timeline, 'seq', '0')
publish(KEYS[2], epoch, 0, 0, '-', '-', lines)
return { 'done' }

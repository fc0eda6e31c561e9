-- Reset a target shard's counters under a higher epoch: hashes of earlier epochs count as absent, and every log is
-- folded and retired up to where PostgreSQL has persisted it. Clients may have seen counts from further on:
-- "folded_before_reset" keeps how far, and no totals are installed until the folds have reached it again.
-- Heat is kept, unless something was persisted that had not been folded and never will be.
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

local lines, heat_has_gap = {}, false
for i = 3, #ARGV, 2 do
  local source, persisted, fence = (i - 3) / 2, ARGV[i], ARGV[i + 1]
  local before = redis.call('HMGET', KEYS[1], 'folded:' .. source, 'folded_before_reset:' .. source)
  local folded, folded_before_reset = before[1], before[2]
  heat_has_gap = heat_has_gap or not folded or not at_most(persisted, later(folded, folded_before_reset or folded))
  local seen = later(later(folded or persisted, folded_before_reset or persisted), persisted)
  redis.call('HSET', KEYS[1], 'folded:' .. source, persisted, 'retired:' .. source, persisted)
  redis.call('HSET', KEYS[1], 'folded_before_reset:' .. source, seen, 'fence:' .. source, fence)
  lines[#lines + 1] = 'folded ' .. source .. ' ' .. persisted
end
if heat_has_gap then
  redis.call('HDEL', KEYS[1], 'hot')
end
redis.call('HSET', KEYS[1], 'epoch', epoch, 'timeline', timeline, 'change', '0')
publish(KEYS[2], epoch, 0, 0, '-', '-', lines)
return { 'done' }

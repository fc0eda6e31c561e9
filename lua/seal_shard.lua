-- Close a shard for good, for a reshard: until its recovery nothing is appended, claimed, loaded
-- or folded there, also by owners of before. What its log has stays readable, so that it can be persisted.
-- Run with EVAL: it must also work on a Redis process that has no scripts.
-- KEYS[1]   meta    hash  of the shard
-- ARGV[1…]  fences  of each source shard, raised for this
-- Returns   {"done", epoch}  epoch of the shard's counters
--           {"no_meta"}      the shard has no counters, so nothing works there; nothing written, here and below
--           {"fenced"}       a source has a newer owner
local epoch = redis.call('HGET', KEYS[1], 'epoch')
if not epoch then
  return { 'no_meta' }
end
local fences = {}
for i, fence in ipairs(ARGV) do
  local field = 'fence:' .. (i - 1)
  if tonumber(redis.call('HGET', KEYS[1], field) or '0') > tonumber(fence) then
    return { 'fenced' }
  end
  fences[2 * i - 1], fences[2 * i] = field, fence
end
redis.call('HSET', KEYS[1], unpack(fences))
redis.call('HDEL', KEYS[1], 'generation', 'redis_history')
return { 'done', epoch }

-- Mark a shard as recovered on this Redis: actions may begin, as long as it continues the same sequence of writes.
-- Run with EVAL: recovery works on a Redis process that has no scripts yet.
-- KEYS[1]  meta          hash    of the shard
-- KEYS[2]  log           stream  of the shard
-- ARGV[1]  source        the shard
-- ARGV[2]  fence         of its owner
-- ARGV[3]  generation    of its log
-- ARGV[4]  run id        of the Redis process
-- ARGV[5]  append limit  number up to which events may be appended; 0 for none
-- ARGV[6]  replication_id  of Redis
-- Returns  {"done"}
--          {"no_meta"}  the shard has no counters yet; nothing written, here and below
--          {"fenced"}   the shard has a newer owner
local source, fence, generation = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'fence:' .. source, 'generation', 'members_retired',
  'members_retiring')
if not meta[1] then
  return { 'no_meta' }
elseif tonumber(meta[2] or '0') > fence then
  return { 'fenced' }
end
-- Entries that are no longer in the log were retired.
local begin, first = generation .. '-0', redis.call('XRANGE', KEYS[2], '-', '+', 'COUNT', 1)[1]
local first_generation, first_number = string.match(first and first[1] or '', '^(%d+)%-(%d+)$')
if first_generation == generation and tonumber(first_number) > 0 then
  begin = generation .. '-' .. string.format('%.0f', tonumber(first_number) - 1)
end
if meta[3] ~= generation or not meta[4] then
  redis.call('HSET', KEYS[1], 'members_retired', begin, 'members_retiring', begin, 'heated', begin)
  redis.call('HDEL', KEYS[1], 'hot') -- events of the generation before may never be added: heat begins again
elseif not meta[5] then
  redis.call('HSET', KEYS[1], 'members_retiring', meta[4])
end
-- A value of more than 64 bytes makes Redis store the hash as a table. In the list that it would be otherwise, a field is
-- found by passing all fields before it, two per shard.
local ABOUT = 'state of a shard of Plaudit; fields are described in docs/internals/keys-and-tables.md'
local append_limit, run_id, replication_id = ARGV[5], ARGV[4], ARGV[6]
redis.call('HSET', KEYS[1], 'fence:' .. source, ARGV[2], 'generation', generation,
  'append_limit', append_limit, 'redis_run_id', run_id, 'redis_history', replication_id, 'about', ABOUT)
return { 'done' }

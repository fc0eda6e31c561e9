-- Append a bundle of views to the log of their notes' shard, exactly once.
-- A sender numbers its bundles and sends one at a time, so its last number identifies every earlier bundle as done.
-- KEYS[1]  meta     hash    of the notes' shard
-- KEYS[2]  log      stream  of the notes' shard
-- KEYS[3]  last     string  number of the sender's last bundle that was appended
-- ARGV[1]  number   of this bundle, from 1
-- ARGV[2]  keep     ms for which the sender's last number is kept from now
-- ARGV[3…] events   texts of the log entries
-- Returns  {"done"}       appended, now or by an earlier call
--          {"not_ready"}  the shard is not recovered, or its log was deleted; nothing written, here and below
--          {"full"}       the log has reached its append limit
local number, keep = tonumber(ARGV[1]), tonumber(ARGV[2])
if not (number and keep and #ARGV > 2) then
  return redis.error_reply('ERR append_views: bad arguments')
end

local meta = redis.call('HMGET', KEYS[1], 'generation', 'members_retired', 'append_limit', 'redis_history')
local generation, append_limit = meta[1], meta[3]
if not (generation and meta[2] and is_verified(meta[4])) then
  return { 'not_ready' }
end
local last = redis.call('GET', KEYS[3])
if last and tonumber(last) >= number then
  return { 'done' }
end
if is_full(append_limit) then
  return { 'full' }
end

-- Redis checks its memory limit when a script begins and not after the script's first write. So if an append fails,
-- it is the first one, and nothing was written.
local offset
for i = 3, #ARGV do
  offset = redis.pcall('XADD', KEYS[2], 'NOMKSTREAM', generation .. '-*', 'e', ARGV[i])
  if not offset then
    return { 'not_ready' } -- the log was deleted
  elseif type(offset) == 'table' then
    -- The log's next generation has begun, but its recovery is not finished.
    return string.find(offset.err, 'equal or smaller') and { 'not_ready' } or offset
  end
end
note_append(KEYS[1], append_limit, generation, offset)
redis.call('SET', KEYS[3], ARGV[1], 'PX', ARGV[2])
return { 'done' }

-- Append a bundle of views to the log of their notes' shard, exactly once.
-- A sender numbers its bundles and sends one after the other, so the last number tells of all before it.
-- KEYS[1]  meta     hash    of the notes' shard
-- KEYS[2]  log      stream  of the notes' shard
-- KEYS[3]  last     string  number of the sender's last bundle that was appended
-- ARGV[1]  source   the shard
-- ARGV[2]  number   of this bundle, from 1
-- ARGV[3]  keep     ms for which the sender's last number is kept from now
-- ARGV[4…] events   texts of the log entries
-- Returns  {"done"}       appended, now or before
--          {"not_ready"}  the shard is not verified yet, or its log is gone; nothing written, here and below
--          {"full"}       the log has no room
local source, number, keep = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
if not (number and keep and #ARGV > 3) then
  return redis.error_reply('ERR append_views: bad arguments')
end

local meta = redis.call('HMGET', KEYS[1], 'gen', 'k:' .. source, 'm', 'room')
local generation = meta[1]
if not (generation and meta[2] and meta[3]) then
  return { 'not_ready' }
end
local last = redis.call('GET', KEYS[3])
if last and tonumber(last) >= number then
  return { 'done' }
end
if is_full(meta[4]) then
  return { 'full' }
end

-- Short memory and a log that has moved on refuse the first append or none: Redis judges a script's memory
-- when it begins, and lets it finish once it has written.
local offset
for i = 4, #ARGV do
  offset = redis.pcall('XADD', KEYS[2], 'NOMKSTREAM', generation .. '-*', 'e', ARGV[i])
  if not offset then
    return { 'not_ready' } -- somebody deleted the log
  elseif type(offset) == 'table' then
    -- The log's next generation has begun, but its verification is not finished.
    return string.find(offset.err, 'equal or smaller') and { 'not_ready' } or offset
  end
end
note_append(KEYS[1], meta[4], generation, offset)
redis.call('SET', KEYS[3], ARGV[2], 'PX', ARGV[3])
return { 'done' }

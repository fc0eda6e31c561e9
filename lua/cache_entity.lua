-- Cache an entity as read from PostgreSQL, unless its place in the cache changed since before it was read.
-- KEYS[1]  meta    hash    of the shard
-- KEYS[2]  record  string  the entity without its texts
-- KEYS[3]  text    string  the whole entity
-- KEYS[4]  bytes   hash    bytes of the shard's texts by slice of time
-- ARGV[1]  mark    what stood at the record before: a marker of invalidate_counts.lua, or empty for nothing
-- ARGV[2]  record  timeline of PostgreSQL, until when it is fresh, until when it is kept (Unix ms), JSON
-- ARGV[3]  life    ms
-- ARGV[4]  text    JSON of the whole entity; empty if there is none
-- ARGV[5]  slice   ms
-- Returns  {"done"}     the text is left out if there is no room for it
--          {"refused"}  something else stands there now; nothing written
local record, text, bytes, slice = KEYS[2], KEYS[3], KEYS[4], tonumber(ARGV[5])
if (redis.call('GET', record) or '') ~= ARGV[1] then
  return { 'refused' }
end
forget_text(text, bytes)
redis.call('SET', record, ARGV[2], 'PX', ARGV[3])
if ARGV[4] == '' then
  return { 'done' }
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local held, counted = 0, redis.call('HGETALL', bytes)
for i = 1, #counted, 2 do
  if (tonumber(counted[i]) + 1) * slice <= now then
    redis.call('HDEL', bytes, counted[i])
  else
    held = held + tonumber(counted[i + 1])
  end
end
local last = string.format('%.0f', math.floor((now + tonumber(ARGV[3])) / slice))
local value = last .. ' ' .. ARGV[4]
local room = tonumber(redis.call('HGET', KEYS[1], 'text_limit') or 'inf')
if held + #value + BYTES_PER_KEY <= room then
  redis.call('SET', text, value, 'PX', ARGV[3])
  redis.call('HINCRBY', bytes, last, #value + BYTES_PER_KEY)
end
return { 'done' }

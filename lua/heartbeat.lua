-- Publish a heartbeat: the number of the shard's newest change, and how far each log is folded into the shard.
-- KEYS[1]  meta     hash     of the shard
-- KEYS[2]  channel  pub/sub  of the shard
-- ARGV[1]  shards   number of virtual shards
-- Returns  {"done"}
--          {"no_meta"}  the shard is not recovered; nothing published
local fields = { 'epoch', 'change' }
for source = 0, tonumber(ARGV[1]) - 1 do
  fields[source + 3] = 'folded:' .. source
end
local meta = redis.call('HMGET', KEYS[1], unpack(fields))
if not meta[1] then
  return { 'no_meta' }
end
local lines = {}
for i = 3, #fields do
  lines[#lines + 1] = 'folded ' .. (i - 3) .. ' ' .. meta[i]
end
publish(KEYS[2], meta[1], tonumber(meta[2]), tonumber(meta[2]), lines)
return { 'done' }

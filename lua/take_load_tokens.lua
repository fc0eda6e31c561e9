-- Begin to load counters of one shard: one loader per entity at a time. The holder of a token may take it again.
-- KEYS[1]  meta    hash    of the shard
-- KEYS[2…] load token string  one per entity
-- ARGV[1]  token   unique to this load
-- ARGV[2]  life    ms
-- ARGV[3]  shards  number of virtual shards
-- Returns  {"done", epoch, {1 or 0 per entity: taken}, {retired-to offset per source}}
--          {"no_meta"}  the shard is not recovered; nothing written
local fields = { 'epoch' }
for source = 0, tonumber(ARGV[3]) - 1 do
  fields[#fields + 1] = 'retired:' .. source
end
local meta = redis.call('HMGET', KEYS[1], unpack(fields))
for i = 1, #fields do
  if not meta[i] then
    return { 'no_meta' }
  end
end

local taken = {}
for i = 2, #KEYS do
  local free = redis.call('SET', KEYS[i], ARGV[1], 'NX', 'PX', ARGV[2])
  taken[i - 1] = (free or redis.call('GET', KEYS[i]) == ARGV[1]) and 1 or 0
end
return { 'done', table.remove(meta, 1), taken, meta }

-- Begin to load counters of one shard. Counters that are not held begin at zero, marked as loading: the fold adds to
-- them from now on, and the install adds everything before.
-- KEYS[1]   meta     hash  of the shard
-- KEYS[2…]  counters hash  one per entity
-- ARGV[1]   token    unique to this load; its holder may begin again
-- ARGV[2]   life     ms after which another load may begin
-- ARGV[3]   shards   number of virtual shards
-- then for each entity:  number of its counters, their names
-- Returns   {"done", {1 or 0 per entity: begun}, {folded-to offset per source}, epoch of the counters}
--                         not begun: the counters are held, or somebody else loads them
--           {"no_meta"}   the shard is not recovered; nothing written
local token, life, fields = ARGV[1], ARGV[2], { 'redis_history', 'epoch' }
for source = 0, tonumber(ARGV[3]) - 1 do
  fields[#fields + 1] = 'folded:' .. source
end
local meta = redis.call('HMGET', KEYS[1], unpack(fields))
for i = 1, #fields do
  if not meta[i] then
    return { 'no_meta' }
  end
end
if not is_verified(table.remove(meta, 1)) then
  return { 'no_meta' }
end
local epoch = table.remove(meta, 1)

local argument = arguments_after(3)
local function names_of_counters()
  local names = {}
  for j = 1, tonumber(argument()) do
    names[j] = argument()
  end
  return names
end

-- Whether a load may begin: the counters are neither held nor loaded by somebody else.
local function may_begin(key, names)
  local held = redis.call('HMGET', key, 'epoch', 'load', unpack(names))
  if held[1] ~= epoch then
    return true
  elseif held[2] then
    return held[2] == token
  end
  for j = 1, #names do
    if not held[2 + j] then
      return true -- a counter that is new in this release
    end
  end
  return false
end

local begun = {}
for i = 2, #KEYS do
  local names = names_of_counters()
  begun[i - 1] = 0
  if may_begin(KEYS[i], names) then
    local writes = { 'epoch', epoch, 'load', token }
    for _, name in ipairs(names) do
      writes[#writes + 1], writes[#writes + 2] = name, '0'
    end
    redis.call('DEL', KEYS[i])
    redis.call('HSET', KEYS[i], unpack(writes))
    redis.call('PEXPIRE', KEYS[i], life)
    begun[i - 1] = 1
  end
end
return { 'done', begun, meta, epoch }

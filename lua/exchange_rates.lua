-- Add to the counts of requests that all instances share, and return the new counts.
-- KEYS[1…]  counts  hash  for each asker: of the current window, then of the one before
-- ARGV[1]   life    ms for which counts are kept from now
-- then for each asker:  reads, writes, creations to add
-- Returns   {"done", number, …}  for each asker: reads, writes, creations of the current window, then of the
--                                one before
local FIELDS = { 'r', 'w', 'c' }
local life, adds = tonumber(ARGV[1]), {}
for i = 2, #ARGV do
  adds[#adds + 1] = tonumber(ARGV[i])
end
if not life or #adds ~= #KEYS / 2 * #FIELDS then
  return redis.error_reply('ERR exchange_rates: bad arguments')
end

local reply = { 'done' }
for i = 1, #KEYS, 2 do
  local first = (i - 1) / 2 * #FIELDS
  for j = 1, #FIELDS do
    if adds[first + j] > 0 then
      redis.call('HINCRBY', KEYS[i], FIELDS[j], adds[first + j])
    end
  end
  redis.call('PEXPIRE', KEYS[i], life)
  for _, key in ipairs({ KEYS[i], KEYS[i + 1] }) do
    for _, count in ipairs(redis.call('HMGET', key, unpack(FIELDS))) do
      reply[#reply + 1] = tonumber(count or '0')
    end
  end
end
return reply

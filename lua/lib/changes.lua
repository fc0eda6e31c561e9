-- The message on a shard's channel. Put before the scripts that publish.
-- First line:  <epoch> <change before> <change after>
-- Then lines:  <entity> <change> <counter>=<total> …    totals that changed; all of them after a load
--              <entity> <change> counts                 its counts are unknown: invalidated, or never loaded
--              <entity> <change> ?                      its row changed, too: drop all that is cached of it
--              folded <source shard> <folded to>        a log and how far it is folded
--              folded <source shard> <folded to> <replication id>  replicas of this Redis have it up to there
-- A message continues the one before it: its "change before" is that one's "change after".
local function integer(number)
  return string.format('%d', number)
end

local function publish(channel, epoch, before, after, lines)
  local head = epoch .. ' ' .. integer(before) .. ' ' .. integer(after) .. '\n'
  redis.call('SPUBLISH', channel, head .. table.concat(lines, '\n'))
end

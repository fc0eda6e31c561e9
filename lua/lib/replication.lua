-- Which sequence of writes this Redis continues. Put before the scripts that requests and folds call.
-- A Redis gets a new replication id when it starts and whenever it is promoted, so no two sequences have the same. Its
-- process and its loaded scripts do not show it: after a failover and back they are as before. Nothing is kept
-- between two calls, because what a script knows outlives a promotion, and the id does not.

-- Whether the shard was verified under the present replication id. Its meta has that id as "redis_history".
local function is_verified(replication_id)
  return replication_id and string.find(redis.call('INFO', 'replication'), 'master_replid:' .. replication_id, 1, true)
end

-- Which history of writes this Redis continues. Put before the scripts that requests and folds call.
-- A Redis gets a new replication id when it starts and whenever it is promoted, so no two histories have the same. Its
-- process and its loaded scripts do not tell: after a failover and back they are those of before. Nothing is kept
-- between two calls, because what a script knows outlives a promotion, and the id does not.

-- Whether the shard was verified in the present history. `history`: the field "redis_history" of its meta.
local function is_verified(history)
  return history and string.find(redis.call('INFO', 'replication'), 'master_replid:' .. history, 1, true)
end

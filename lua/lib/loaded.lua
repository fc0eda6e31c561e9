-- What was read from SQL for one actor is kept only if nothing of it has moved meanwhile. Put before the scripts that keep
-- it, with offset and replication id.

-- Why it is not kept, nil if it is: the shard is not recovered ("no_meta"), or something moved ("refused"). The arguments:
-- generation of the shard's log and number of its invalidated sets, as read before SQL was asked; the offset up to which
-- SQL had persisted the log when it was read.
local function why_not_kept(meta, generation, invalidated, persisted)
  local now = redis.call('HMGET', meta, 'generation', 'members_retiring', 'sets_invalidated', 'redis_history')
  if not (now[1] and now[2] and is_verified(now[4])) then
    return { 'no_meta' }
  elseif now[1] ~= generation or (now[3] or '0') ~= invalidated or not at_most(now[2], persisted) then
    return { 'refused' }
  end
end

-- Switch an edge on or off: decide whether that changes anything, append the event, add the flip to the pending
-- overlay and to the cached set.
-- KEYS[1]  meta       hash    of the actor's shard
-- KEYS[2]  log        stream  of the actor's shard
-- KEYS[3]  pending    hash    the actor's flips that are not retired
-- KEYS[4]  edges      set     the actor's targets of this kind (a cache)
-- KEYS[5]  floor      string  lowest target id in a truncated set
-- KEYS[6]  idempotency string optional: given when the client sent a key
-- ARGV[1]  kind       edge kind
-- ARGV[2]  target     id, decimal
-- ARGV[3]  on         1 or 0
-- ARGV[4]  event      text of the log entry
-- ARGV[5]  limit      the most edges of this kind that may be on; 0 for no limit
-- ARGV[6]  row        state of this edge in SQL: 1, 0, or empty when SQL was not asked
-- ARGV[7]  row_at     offset up to which SQL had persisted the shard's log then; empty as above
-- ARGV[8]  renew      new time to live of the set in ms, if it is not too large; 0 leaves it as it is
-- ARGV[9]  operation  what the idempotency key stands for: operation and target
-- ARGV[10] keep       ms for which the idempotency key is kept if the edge was switched
-- ARGV[11] at         time of the flip, Unix ms
-- ARGV[12] most       members that a set may have; one that is larger when it is renewed is deleted, and loaded again
--                     truncated
-- ARGV[13] keep_unchanged  ms for which the idempotency key is kept if it was not
-- ARGV[14] off_again  text of the log entry that records the switching off of an edge that is off; empty if it is not
--                     recorded. Nor is it while a flip of the edge is pending.
-- Returns  {"done", 1, offset, replication_id}  switched; offset of its event, and the id of the Redis that has it
--          {"done", 0, offset, replication_id}  it already was in that state; offset of the pair's pending flip, or of the event
--                                         that records this one, or ""
--          {"repeated", 1, offset, replication_id}  the key was used for this before: what the first call returned, if done
--          {"not_ready"}         the shard is not recovered, or its log was deleted; nothing written
--          {"need_set"}          load the set first
--          {"need_row"}          ask SQL about this one edge first
--          {"limit"}             the limit is reached; nothing written
--          {"full"}              the log has reached its append limit; nothing written
--          {"key_conflict"}      the idempotency key stands for something else
local kind, target, on, event = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local limit, row, row_at, renew = tonumber(ARGV[5]), ARGV[6], ARGV[7], tonumber(ARGV[8])
local operation, keep, at, most, keep_unchanged = ARGV[9], ARGV[10], ARGV[11], tonumber(ARGV[12]), ARGV[13]
local off_again = ARGV[14]
if not (limit and renew and most and tonumber(target) and tonumber(at) and (on == '1' or on == '0')) then
  return redis.error_reply('ERR flip_edge: bad arguments')
end

local meta = redis.call('HMGET', KEYS[1], 'generation', 'members_retiring', 'append_limit', 'redis_history')
local generation, retiring, append_limit, replication_id = meta[1], meta[2], meta[3], meta[4]
if not (generation and retiring and is_verified(replication_id)) then
  return { 'not_ready' }
end
if KEYS[6] then
  local kept = redis.call('GET', KEYS[6])
  if kept then
    local changed, offset, of = string.match(kept, '^([01]) (%S+) (.+)$')
    if of ~= operation then
      return { 'key_conflict' }
    end
    return { 'repeated', tonumber(changed), offset == '-' and '' or offset, replication_id }
  end
end

-- The set's marker. Formatted as an integer: redis.call formats numbers as fractions, which takes longer.
local complete = string.format('-%d', 2 * generation)
local truncated = string.format('-%d', 2 * generation + 1)
local held = redis.call('SMISMEMBER', KEYS[4], complete, truncated, target)
local is_complete = held[1] == 1
-- A truncated set whose floor has expired cannot be used.
local floor = held[2] == 1 and redis.call('GET', KEYS[5])
local is_in_set = is_complete or floor and tonumber(target) >= tonumber(floor)

-- State and offset of the pair's pending flip. A flip of an earlier generation is persisted and does not count.
local field = kind .. ':' .. target
local function pending_flip()
  local state, offset, of = string.match(redis.call('HGET', KEYS[3], field) or '', '^([01]):((%d+)%-%d+)')
  if of == generation then
    return state, offset
  end
end

local was
if is_in_set then
  was = tostring(held[3])
else
  was = pending_flip()
  -- Flips up to `retiring` may have left the pending overlay: an answer of SQL must include them.
  if not was and row ~= '' and at_most(retiring, row_at) then
    was = row
  elseif not was then
    return { floor and 'need_row' or 'need_set' }
  end
end

local changes = was ~= on

if changes and on == '1' and limit > 0 then
  if floor then
    return { 'limit' } -- a truncated set stands for more edges than any limit allows
  elseif not is_complete then
    return { 'need_set' }
  elseif redis.call('SCARD', KEYS[4]) - 1 >= limit then
    return { 'limit' }
  end
end

local records = not changes and on == '0' and off_again ~= '' and not pending_flip()
if (changes or records) and is_full(append_limit) then
  return { 'full' }
end

-- The append goes first: when memory is short it fails before anything is written.
local offset
if changes or records then
  offset = redis.pcall('XADD', KEYS[2], 'NOMKSTREAM', generation .. '-*', 'e', changes and event or off_again)
  if not offset then
    return { 'not_ready' } -- the log was deleted
  elseif type(offset) == 'table' then
    -- The log's next generation has begun, but its recovery is not finished.
    return string.find(offset.err, 'equal or smaller') and { 'not_ready' } or offset
  end
  redis.call('HSET', KEYS[3], field, on .. ':' .. offset .. ':' .. at)
  if changes and is_in_set then
    redis.call(on == '1' and 'SADD' or 'SREM', KEYS[4], target)
  end
  note_append(KEYS[1], append_limit, generation, offset)
else
  offset = select(2, pending_flip()) or ''
end
if KEYS[6] then
  local kept = (changes and '1 ' or '0 ') .. (offset == '' and '-' or offset) .. ' ' .. operation
  redis.call('SET', KEYS[6], kept, 'PX', changes and keep or keep_unchanged)
end
if renew > 0 then
  if redis.call('SCARD', KEYS[4]) > most then
    redis.call('UNLINK', KEYS[4], KEYS[5])
  else
    redis.call('PEXPIRE', KEYS[4], ARGV[8])
    redis.call('PEXPIRE', KEYS[5], ARGV[8])
  end
end
return { 'done', changes and 1 or 0, offset, replication_id }

-- Switch an edge on or off: decide whether that changes anything, append the event, add the flip to the pending
-- overlay.
-- KEYS[1]  meta       hash    of the actor's shard
-- KEYS[2]  log        stream  of the actor's shard
-- KEYS[3]  pending    hash    the actor's flips that are not retired
-- KEYS[4]  edges      set     the actor's targets of this kind (a cache of rows)
-- KEYS[5]  floor      string  lowest target id in a truncated set
-- KEYS[6]  idempotency string optional: given when the client sent a key
-- ARGV[1]  kind       edge kind
-- ARGV[2]  target     id, decimal
-- ARGV[3]  on         1 or 0
-- ARGV[4]  event      text of the log entry
-- ARGV[5]  limit      the most edges of this kind that may be on; 0 for no limit
-- ARGV[6]  row        state of this edge in SQL: 1, 0, or empty when SQL was not asked
-- ARGV[7]  row_at     offset up to which SQL had persisted the shard's log then; empty as above
-- ARGV[8]  renew      new time to live of the set in ms; 0 leaves it as it is
-- ARGV[9]  operation  what the idempotency key stands for: operation and target
-- ARGV[10] keep       ms for which the idempotency key is kept
-- ARGV[11] at         time of the flip, Unix ms
-- Returns  {"done", 1, offset}   switched; offset of its event
--          {"done", 0, offset}   it already was in that state; offset of the pair's pending flip, or ""
--          {"repeated", 1, offset}  the key was used for this before: what the first call returned, if "done"
--          {"not_ready"}         the shard is not recovered, or its log was deleted; nothing written
--          {"need_set"}          load the set first
--          {"need_row"}          ask SQL about this one edge first
--          {"limit"}             the limit is reached; nothing written
--          {"full"}              the log has reached its append limit; nothing written
--          {"key_conflict"}      the idempotency key stands for something else
local kind, target, on, event = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local limit, row, row_at, renew = tonumber(ARGV[5]), ARGV[6], ARGV[7], tonumber(ARGV[8])
local operation, keep, at = ARGV[9], ARGV[10], ARGV[11]
if not (limit and renew and tonumber(target) and tonumber(at) and (on == '1' or on == '0')) then
  return redis.error_reply('ERR flip_edge: bad arguments')
end

local meta = redis.call('HMGET', KEYS[1], 'generation', 'members_retiring', 'append_limit')
local generation, retiring, append_limit = meta[1], meta[2], meta[3]
if not (generation and retiring) then
  return { 'not_ready' }
end
if KEYS[6] then
  local kept = redis.call('GET', KEYS[6])
  if kept then
    local changed, offset, of = string.match(kept, '^([01]) (%S+) (.+)$')
    if of ~= operation then
      return { 'key_conflict' }
    end
    return { 'repeated', tonumber(changed), offset == '-' and '' or offset }
  end
end

local complete = '-' .. string.format('%.0f', 2 * tonumber(generation))
local truncated = '-' .. string.format('%.0f', 2 * tonumber(generation) + 1)
local held = redis.call('SMISMEMBER', KEYS[4], complete, truncated, target)
local is_complete, is_member = held[1] == 1, held[3] == 1
-- A truncated set whose floor has expired cannot be used.
local floor = held[2] == 1 and redis.call('GET', KEYS[5])

-- State and offset of the pair's pending flip. A flip of an earlier generation is persisted and does not count.
local field = kind .. ':' .. target
local pending = redis.call('HGET', KEYS[3], field)
local pending_on, pending_at
if pending then
  local state, offset = string.match(pending, '^([01]):(%d+%-%d+)')
  if string.match(offset, '^%d+') == generation then
    pending_on, pending_at = state, offset
  end
end

local was
if pending_on then
  was = pending_on
elseif is_member and (is_complete or floor) then
  was = '1'
elseif is_complete then
  was = '0'
else
  -- Flips up to `retiring` may have left the pending overlay: an answer of SQL must include them.
  local known = row ~= '' and at_most(retiring, row_at)
  if floor and tonumber(target) >= tonumber(floor) then
    was = '0'
  elseif known then
    was = row
  else
    return { floor and 'need_row' or 'need_set' }
  end
end

local changes = was ~= on

if changes and on == '1' and limit > 0 then
  if floor then
    return { 'limit' } -- a truncated set stands for more edges than any limit allows
  elseif not is_complete then
    return { 'need_set' }
  end
  local count = redis.call('SCARD', KEYS[4]) - 1
  -- The exact count with pending flips is needed only near the limit.
  if count + redis.call('HLEN', KEYS[3]) >= limit then
    local flips = redis.call('HGETALL', KEYS[3])
    for i = 1, #flips, 2 do
      local flip_kind, id = string.match(flips[i], '^(.+):(%d+)$')
      local state, flip_generation = string.match(flips[i + 1], '^([01]):(%d+)')
      if flip_kind == kind and flip_generation == generation then
        local in_rows = redis.call('SISMEMBER', KEYS[4], id)
        count = count + tonumber(state) - in_rows
      end
    end
    if count >= limit then
      return { 'limit' }
    end
  end
end

if changes and is_full(append_limit) then
  return { 'full' }
end

-- The append goes first: when memory is short it fails before anything is written.
local offset = pending_at or ''
if changes then
  offset = redis.pcall('XADD', KEYS[2], 'NOMKSTREAM', generation .. '-*', 'e', event)
  if not offset then
    return { 'not_ready' } -- the log was deleted
  elseif type(offset) == 'table' then
    -- The log's next generation has begun, but its recovery is not finished.
    return string.find(offset.err, 'equal or smaller') and { 'not_ready' } or offset
  end
  redis.call('HSET', KEYS[3], field, on .. ':' .. offset .. ':' .. at)
  note_append(KEYS[1], append_limit, generation, offset)
end
if KEYS[6] then
  local kept = (changes and '1 ' or '0 ') .. (offset == '' and '-' or offset) .. ' ' .. operation
  redis.call('SET', KEYS[6], kept, 'PX', keep)
end
if renew > 0 then
  redis.call('PEXPIRE', KEYS[4], ARGV[8])
  redis.call('PEXPIRE', KEYS[5], ARGV[8])
end
return { 'done', changes and 1 or 0, offset }

-- Retire the flips of a persisted batch: flips of some of its actors leave the pending overlay, and are applied to the
-- actors' newest edges (install_newest.lua) if these are kept. "members_retiring"
-- records first up to where flips may have left the overlay: an older answer of SQL is then refused, even if this
-- batch is never retired to its end; "members_retired" last, with the last actors.
-- KEYS[1]  meta     hash    of the actors' shard
-- then for each actor:
--          pending  hash
-- then for each actor and each listed kind of the flips, in the order of the fields:
--          newest   zset
-- then what is invalidated, because a flip in the batch made no row:
--          edges    set
--          newest   zset    if it is kept of this kind
-- ARGV[1]  source   the shard
-- ARGV[2]  fence    of its owner
-- ARGV[3]  to       offset up to which the log is persisted
-- ARGV[4]  actors   how many
-- ARGV[5]  lists    how many newest edges
-- ARGV[6]  most      edges that are kept, before the oldest are dropped
-- ARGV[7]  kept      edges that are left then
-- ARGV[8]  listed    kinds of edges of which the newest may be kept, separated by spaces
-- ARGV[9]  is_last   1 if no other actor has a flip up to the offset: all of them are retired afterwards
-- then for each actor:  number of flips; their fields in the pending hash, ordered by kind
-- Returns  {"done"}
--          {"no_meta"}  the shard is not recovered; nothing written, here and below
--          {"fenced"}   the shard has a newer owner
local meta = redis.call('HMGET', KEYS[1], 'generation', 'fence:' .. ARGV[1], 'members_retiring', 'members_retired')
if not (meta[1] and meta[4]) then
  return { 'no_meta' }
elseif tonumber(meta[2] or '0') > tonumber(ARGV[2]) then
  return { 'fenced' }
end

local to, actors, lists = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local most, kept = tonumber(ARGV[6]), tonumber(ARGV[7])
local call, match, is_persisted = redis.call, string.match, at_or_before(to)

-- Each actor's fields. Counted before anything is written, so that no argument is missing.
local fields, at = {}, 10
for actor = 1, actors do
  local flips = tonumber(ARGV[at])
  fields[actor] = { unpack(ARGV, at + 1, at + flips) }
  at = at + 1 + flips
end
if at ~= #ARGV + 1 or #KEYS < 1 + actors + lists then
  error('arguments and keys do not fit')
end

if not (meta[3] and at_most(to, meta[3])) then
  call('HSET', KEYS[1], 'members_retiring', to)
end

-- Truncated newest edges have all that are at least as new as the oldest of them: an older one is not added.
local function write_newest(key, target, on, at)
  if on == '0' then
    call('ZREM', key, target)
    return
  end
  local marker, _, oldest, oldest_at = unpack(call('ZRANGE', key, 0, 1, 'WITHSCORES'))
  local is_truncated = marker and tonumber(marker) % 2 == 1
  if not marker or is_truncated and oldest and tonumber(at) < tonumber(oldest_at) then
    return
  elseif is_truncated and not oldest then
    call('UNLINK', key)
    return
  end
  call('ZADD', key, 'GT', at, target)
  local edges = call('ZCARD', key) - 1
  if edges > most then
    call('ZREMRANGEBYRANK', key, 1, edges - kept)
    if not is_truncated then
      call('ZREM', key, marker)
      call('ZADD', key, 0, marker - 1)
    end
  end
end

-- Few actors have newest edges.
local first_list, is_listed = 2 + actors, {}
local are_some_kept = lists > 0 and call('EXISTS', unpack(KEYS, first_list, first_list + lists - 1)) > 0
for kind in string.gmatch(ARGV[8], '%S+') do
  is_listed[kind] = are_some_kept
end
local list = first_list - 1
for actor = 1, actors do
  local pending, persisted, of_kind = KEYS[1 + actor], {}, nil
  for i, flip in ipairs(call('HMGET', pending, unpack(fields[actor]))) do
    local field = fields[actor][i]
    local is_retired = flip and is_persisted(match(flip, '^[01]:(%d+%-%d+)'))
    if is_retired then
      persisted[#persisted + 1] = field
    end
    if are_some_kept then
      local kind, target = match(field, '^(.+):(%d+)$')
      if is_listed[kind] and kind ~= of_kind then
        list = list + 1
      end
      of_kind = kind
      if is_retired and is_listed[kind] then
        local on, at = match(flip, '^([01]):.+:(%d+)$')
        write_newest(KEYS[list], target, on, at .. '000')
      end
    end
  end
  if #persisted > 0 then
    call('HDEL', pending, unpack(persisted))
  end
end
if #KEYS >= first_list + lists then
  call('UNLINK', unpack(KEYS, first_list + lists))
end
if ARGV[9] == '1' then
  call('HSET', KEYS[1], 'members_retired', to)
end
return { 'done' }

-- Retire the flips of a persisted batch: flips of some of its actors leave the pending overlay. "members_retiring"
-- records first up to where flips may have left the overlay: an older answer of SQL is then refused, even if this
-- batch is never retired to its end.
-- KEYS[1]  meta     hash    of the actors' shard
-- then for each actor:
--          pending  hash
-- then for each set that is invalidated, because a flip in the batch made no row:
--          edges    set
--          floor    string
-- ARGV[1]  source   the shard
-- ARGV[2]  fence    of its owner
-- ARGV[3]  to       offset up to which the log is persisted
-- ARGV[4]  actors   how many
-- then for each actor:  number of flips; their fields in the pending hash
-- Returns  {"done"}
--          {"no_meta"}  the shard is not recovered; nothing written, here and below
--          {"fenced"}   the shard has a newer owner
local meta = redis.call('HMGET', KEYS[1], 'generation', 'fence:' .. ARGV[1], 'members_retiring')
if not meta[1] then
  return { 'no_meta' }
elseif tonumber(meta[2] or '0') > tonumber(ARGV[2]) then
  return { 'fenced' }
end

local to, actors = ARGV[3], tonumber(ARGV[4])
local call, match, is_persisted = redis.call, string.match, at_or_before(to)

-- Each actor's fields. Counted before anything is written, so that no argument is missing.
local fields, at = {}, 5
for actor = 1, actors do
  local flips = tonumber(ARGV[at])
  fields[actor] = { unpack(ARGV, at + 1, at + flips) }
  at = at + 1 + flips
end
if at ~= #ARGV + 1 or (#KEYS - 1 - actors) % 2 ~= 0 then
  error('arguments and keys do not fit')
end

if not (meta[3] and at_most(to, meta[3])) then
  call('HSET', KEYS[1], 'members_retiring', to)
end
for actor = 1, actors do
  local pending, persisted = KEYS[1 + actor], {}
  for i, flip in ipairs(call('HMGET', pending, unpack(fields[actor]))) do
    if flip and is_persisted(match(flip, '^[01]:(%d+%-%d+)')) then
      persisted[#persisted + 1] = fields[actor][i]
    end
  end
  if #persisted > 0 then
    call('HDEL', pending, unpack(persisted))
  end
end
if #KEYS > 1 + actors then
  call('UNLINK', unpack(KEYS, 2 + actors))
end
return { 'done' }

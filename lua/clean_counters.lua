-- A batch is in PostgreSQL: what it added is no longer pending on one target shard.
-- KEYS[1]  meta      hash    of the target shard
-- KEYS[2, 4, …]      counters hash    one per entity
-- KEYS[3, 5, …]      load token string of the same entity
-- ARGV[1]  source    shard whose log this is
-- ARGV[2]  from      offset up to which the target must have been cleaned
-- ARGV[3]  to        offset up to which it is afterwards
-- ARGV[4]  epoch     of the target's counters
-- ARGV[5]  fence     of the source's owner
-- ARGV[6]  life      ms for which counters are kept from now, once nothing of them is pending
-- ARGV[7]  kinds     how many kinds of entities follow
-- then for each kind:    number of the counters that move, at least one; their names
-- then for each entity:  position of its kind (from 1), one difference per counter
-- Returns  {"done"}
--          {"no_meta"}             the target is not verified; nothing written, here and below
--          {"other_epoch", epoch}  the target began anew
--          {"fenced"}              the source has a newer owner
--          {"moved", offset}       the target is cleaned up to there
--          {"too_early", offset}   the target has folded only up to there
local source, from, to, epoch, fence = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])

local meta = redis.call('HMGET', KEYS[1], 'epoch', 'fence:' .. source, 'k:' .. source, 'w:' .. source)
if not meta[1] then
  return { 'no_meta' }
elseif meta[1] ~= epoch then
  return { 'other_epoch', meta[1] }
elseif tonumber(meta[2] or '0') > fence then
  return { 'fenced' }
elseif meta[3] ~= from then
  return { 'moved', meta[3] or '' }
elseif not at_most(to, meta[4]) then
  return { 'too_early', meta[4] }
end

local argument = arguments_after(7)
local kinds = read_kinds(argument, tonumber(ARGV[7]), source)
local batch = {}
for i = 2, #KEYS, 2 do
  local kind = kinds[tonumber(argument())]
  local deltas = read_deltas(argument, kind)
  batch[#batch + 1] = { key = KEYS[i], token = KEYS[i + 1], kind = kind, deltas = deltas }
end

local tokens = {}
for _, entry in ipairs(batch) do
  local held = read_counters(entry.key, entry.kind, epoch)
  if held.first then
    local writes, marks = {}, held.marks
    local function write(field, value)
      writes[#writes + 1] = field
      writes[#writes + 1] = value
    end
    for j, name in ipairs(entry.kind.names) do
      if entry.deltas[j] ~= 0 then
        write('+' .. name, integer(held.pending[j] - entry.deltas[j]))
      end
    end
    local is_done = at_most(held.last, to)
    if is_done then
      marks = marks - 1
      write('marks', integer(marks))
    elseif at_most(held.first, to) then
      write('~' .. source, to)
    end
    local has_base = next(held.totals) ~= nil -- a base has all totals
    if marks == 0 and not has_base then
      redis.call('UNLINK', entry.key)
    else
      if is_done then
        redis.call('HDEL', entry.key, '~' .. source, '^' .. source)
      end
      if #writes > 0 then
        redis.call('HSET', entry.key, unpack(writes))
      end
      if marks == 0 then
        redis.call('PEXPIRE', entry.key, ARGV[6])
      end
    end
  end
  tokens[#tokens + 1] = entry.token
end
delete_all(tokens) -- a load that read before this batch must not install

redis.call('HSET', KEYS[1], 'k:' .. source, to, 'fence:' .. source, ARGV[5])
return { 'done' }

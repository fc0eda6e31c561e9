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
  batch[#batch + 1] = kind
  for _ = 1, #kind.names do
    batch[#batch + 1] = tonumber(argument()) or error('a difference is missing')
  end
end

local is_cleaned, call = at_or_before(to), redis.call
local mark, last_mark = '~' .. source, '^' .. source
local at, gone = 1, {}
for i = 2, #KEYS, 2 do
  local key, kind = KEYS[i], batch[at]
  local held = call('HMGET', key, unpack(kind.fields))
  local first = held[1] == epoch and held[2]
  if first then
    local is_done, marks = is_cleaned(held[3]), tonumber(held[4] or '0')
    marks = is_done and marks - 1 or marks
    local is_last = is_done and marks == 0
    if marks == 0 and not held[5] then -- a base has all totals
      gone[#gone + 1] = key
    else
      local writes, deletes = {}, { mark, last_mark }
      for j, name in ipairs(kind.names) do
        if batch[at + j] ~= 0 then
          local pending = tonumber(held[2 * j + 4] or '0') - batch[at + j]
          if pending == 0 and is_last then
            deletes[#deletes + 1] = kind.fields[2 * j + 4]
          else
            writes[#writes + 1] = kind.fields[2 * j + 4]
            writes[#writes + 1] = integer(pending)
          end
        end
      end
      if is_last then
        deletes[#deletes + 1] = 'marks'
      elseif is_done then
        writes[#writes + 1] = 'marks'
        writes[#writes + 1] = integer(marks)
      elseif is_cleaned(first) then
        writes[#writes + 1] = mark
        writes[#writes + 1] = to
      end
      if is_done then
        call('HDEL', key, unpack(deletes))
      end
      if #writes > 0 then
        call('HSET', key, unpack(writes))
      end
      if marks == 0 then
        call('PEXPIRE', key, ARGV[6])
      end
    end
  end
  gone[#gone + 1] = KEYS[i + 1] -- a load that read before this batch must not install
  at = at + 1 + #kind.names
end
delete_all(gone)

call('HSET', KEYS[1], 'k:' .. source, to, 'fence:' .. source, ARGV[5])
return { 'done' }

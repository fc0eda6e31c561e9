-- Retire a persisted batch on one target shard: what it added leaves the pending overlay of the counters. Totals do
-- not change.
-- KEYS[1]  meta      hash    of the target shard
-- KEYS[2, 4, …]      counters hash    one per entity
-- KEYS[3, 5, …]      load token string of the same entity
-- ARGV[1]  source    shard whose log this is
-- ARGV[2]  from      offset up to which the target must have retired that log
-- ARGV[3]  to        offset up to which it has retired afterwards
-- ARGV[4]  epoch     of the target's counters
-- ARGV[5]  fence     of the source's owner
-- ARGV[6]  life      ms for which counters are kept from now, once nothing of them is pending
-- ARGV[7]  kinds     how many kinds of entities follow
-- then for each kind:    number of the counters that move, at least one; their names
-- then for each entity:  position of its kind (from 1), one difference per counter
-- Returns  {"done"}
--          {"no_meta"}             the target is not recovered; nothing written, here and below
--          {"other_epoch", epoch}  the target was reset
--          {"fenced"}              the source has a newer owner
--          {"moved", offset}       the target has retired up to there
--          {"too_early", offset}   the target has folded only up to there
local source, from, to, epoch, fence = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])

local meta = redis.call('HMGET', KEYS[1], 'epoch', 'fence:' .. source, 'retired:' .. source, 'folded:' .. source)
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

-- One flat list, because a table per entity would cost time: for each entity its kind, then a difference for each
-- counter of the kind. All arguments are read before anything is written.
local argument = arguments_after(7)
local kinds = read_kinds(argument, tonumber(ARGV[7]), source)
local batch = {}
for _ = 2, #KEYS, 2 do
  local kind = kinds[tonumber(argument())]
  batch[#batch + 1] = kind
  for _ = 1, #kind.names do
    batch[#batch + 1] = tonumber(argument()) or error('a difference is missing')
  end
end

local is_retired, call = at_or_before(to), redis.call
local low_field, high_field = '~' .. source, '^' .. source
local kind_at, deleted = 1, {}
for i = 2, #KEYS, 2 do
  local key, kind = KEYS[i], batch[kind_at]
  local held = call('HMGET', key, unpack(kind.fields))
  local low_watermark = held[EPOCH] == epoch and held[LOW_WATERMARK]
  if low_watermark then
    -- Whether all of this source's overlay is retired, and whether no source has an overlay any more.
    local source_is_done, sources = is_retired(held[HIGH_WATERMARK]), tonumber(held[SOURCES] or '0')
    sources = source_is_done and sources - 1 or sources
    local all_are_done = source_is_done and sources == 0
    if sources == 0 and not held[FIRST_TOTAL] then -- no base totals: they are loaded all together
      deleted[#deleted + 1] = key
    else
      local writes, deletes = {}, { low_field, high_field }
      local pending_at = FIRST_PENDING
      for j = 1, #kind.names do
        local difference = batch[kind_at + j]
        if difference ~= 0 then
          local pending = tonumber(held[pending_at] or '0') - difference
          if pending == 0 and all_are_done then
            deletes[#deletes + 1] = kind.fields[pending_at]
          else
            writes[#writes + 1] = kind.fields[pending_at]
            writes[#writes + 1] = integer(pending)
          end
        end
        pending_at = pending_at + FIELDS_PER_COUNTER
      end
      if all_are_done then
        deletes[#deletes + 1] = 'marks'
      elseif source_is_done then
        writes[#writes + 1] = 'marks'
        writes[#writes + 1] = integer(sources)
      elseif is_retired(low_watermark) then
        writes[#writes + 1] = low_field
        writes[#writes + 1] = to
      end
      if source_is_done then
        call('HDEL', key, unpack(deletes))
      end
      if #writes > 0 then
        call('HSET', key, unpack(writes))
      end
      if sources == 0 then
        call('PEXPIRE', key, ARGV[6])
      end
    end
  end
  deleted[#deleted + 1] = KEYS[i + 1] -- a load that read SQL before this batch must not install
  kind_at = kind_at + 1 + #kind.names
end
delete_all(deleted)

call('HSET', KEYS[1], 'retired:' .. source, to, 'fence:' .. source, ARGV[5])
return { 'done' }

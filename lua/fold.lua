-- Fold one batch of a source shard's log into the counters of one target shard, exactly once, and publish the totals
-- that change.
-- KEYS[1]   meta     hash     of the target shard
-- KEYS[2]   channel  pub/sub  of the target shard
-- KEYS[3…]  counters hash     one per entity, then:
--           heat     zset     of notes, one per bucket of time
-- ARGV[1]   source   shard whose log this is
-- ARGV[2]   from     offset up to which the target must have folded that log
-- ARGV[3]   to       offset up to which it has folded afterwards
-- ARGV[4]   epoch    of the target's counters
-- ARGV[5]   fence    of the source's owner
-- ARGV[6]   hot      Unix ms from which on heat is added, as the caller read it; empty: none is added
-- ARGV[7]   entities how many
-- ARGV[8]   kinds    how many kinds of entities follow
-- then for each kind:    number of the counters that move, at least one; their names
-- then for each entity:  position of its kind (from 1), entity, offset just before its first event,
--                        offset of its last event, one difference per counter
-- then for each heat:    Unix ms at which it expires, number of notes, for each note: id, heat
-- Returns   {"done"}
--           {"no_meta"}             the target is not recovered; nothing written, here and below
--           {"other_epoch", epoch}  the target was reset
--           {"fenced"}              the source has a newer owner
--           {"moved", offset}       the target has folded up to there
--           {"other_heat", hot}     heat is added since then
local source, from, to, epoch, fence = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])

local meta = redis.call('HMGET', KEYS[1], 'epoch', 'fence:' .. source, 'folded:' .. source, 'change', 'hot')
if not meta[1] then
  return { 'no_meta' }
elseif meta[1] ~= epoch then
  return { 'other_epoch', meta[1] }
elseif tonumber(meta[2] or '0') > fence then
  return { 'fenced' }
elseif meta[3] ~= from then
  return { 'moved', meta[3] or '' }
elseif (meta[5] or '') ~= ARGV[6] then
  return { 'other_heat', meta[5] or '' }
end

-- One flat list, because a table per entity would cost time: for each entity its kind, the entity, the offsets, then a
-- difference for each counter of the kind. All arguments are read before anything is written.
local first_heat = 3 + tonumber(ARGV[7])
local argument = arguments_after(8)
local kinds = read_kinds(argument, tonumber(ARGV[8]), source)
local batch = {}
for _ = 3, first_heat - 1 do
  local kind, at = kinds[tonumber(argument())], #batch
  batch[at + 1], batch[at + 2], batch[at + 3], batch[at + 4] = kind, argument(), argument(), argument()
  for j = 1, #kind.names do
    batch[at + 4 + j] = tonumber(argument()) or error('a difference is missing')
  end
end
local heat = read_heat(argument, first_heat)

local call, concat = redis.call, table.concat
local low_field, high_field, nothing = '~' .. source, '^' .. source, {}
local before = tonumber(meta[4])
local change, lines, at = before, {}, 1
for i = 3, first_heat - 1 do
  local key, kind, entity, after, last = KEYS[i], batch[at], batch[at + 1], batch[at + 2], batch[at + 3]
  local names = kind.names
  local held = call('HMGET', key, unpack(kind.fields))
  change = change + 1
  local writes = { 'v', integer(change), high_field, last }
  local is_first = not held[LOW_WATERMARK]
  if held[EPOCH] ~= epoch then
    if held[EPOCH] then
      call('DEL', key)
    end
    held, is_first = nothing, true
    writes[5], writes[6] = 'epoch', epoch
  end
  local last_write = #writes
  if is_first then
    writes[last_write + 1], writes[last_write + 2] = low_field, after
    writes[last_write + 3], writes[last_write + 4] = 'marks', integer(tonumber(held[SOURCES] or '0') + 1)
    last_write = last_write + 4
  end
  local line, is_known, total_at = { entity, writes[2] }, true, FIRST_TOTAL
  for j = 1, #names do
    local total, delta = held[total_at], batch[at + 3 + j]
    if delta ~= 0 then
      writes[last_write + 1] = kind.fields[total_at + 1]
      writes[last_write + 2] = integer(tonumber(held[total_at + 1] or '0') + delta)
      last_write = last_write + 2
      if total then
        total = integer(tonumber(total) + delta)
        writes[last_write + 1], writes[last_write + 2] = names[j], total
        last_write = last_write + 2
        line[#line + 1] = names[j] .. '=' .. total
      end
    end
    is_known, total_at = is_known and total, total_at + FIELDS_PER_COUNTER
  end
  call('HSET', key, unpack(writes))
  if is_first then
    call('PERSIST', key) -- a pending overlay must not expire
  end
  lines[#lines + 1] = is_known and concat(line, ' ') or entity .. ' ' .. writes[2] .. ' ?'
  at = at + 4 + #names
end
add_heat(heat)

redis.call('HSET', KEYS[1], 'folded:' .. source, to, 'change', integer(change), 'fence:' .. source, ARGV[5])
publish(KEYS[2], epoch, before, change, source, to, lines)
return { 'done' }

-- Fold one batch of a source shard's log into the counters of one target shard, exactly once, and publish the new
-- counts.
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
-- then for each kind:    number of counters, their names
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

local first_heat = 3 + tonumber(ARGV[7])
local argument = arguments_after(8)
local kinds = read_kinds(argument, tonumber(ARGV[8]), source)
local batch = {}
for i = 3, first_heat - 1 do
  local kind = kinds[tonumber(argument())]
  local entry = { key = KEYS[i], kind = kind, entity = argument() }
  entry.after, entry.last = argument(), argument()
  entry.deltas = read_deltas(argument, kind)
  batch[#batch + 1] = entry
end
local heat = read_heat(argument, first_heat)

local before = tonumber(meta[4])
local change = before
local lines = {}
for _, entry in ipairs(batch) do
  local names, held = entry.kind.names, read_counters(entry.key, entry.kind, epoch)
  if held.is_of_another_epoch then
    redis.call('DEL', entry.key)
  end
  change = change + 1
  local writes = { 'epoch', epoch, 'v', integer(change), '^' .. source, entry.last }
  local function write(field, value)
    writes[#writes + 1] = field
    writes[#writes + 1] = value
  end
  if not held.low_watermark then
    write('~' .. source, entry.after)
    write('marks', integer(held.sources + 1))
  end
  local values, is_complete = {}, true
  for j, name in ipairs(names) do
    local total, delta = held.totals[j], entry.deltas[j]
    if delta ~= 0 then
      write('+' .. name, integer((held.pending[j] or 0) + delta))
      if total then
        total = integer(tonumber(total) + delta)
        write(name, total)
      end
    end
    is_complete = is_complete and total
    values[j] = total or '?'
  end
  redis.call('HSET', entry.key, unpack(writes))
  if not held.low_watermark then
    redis.call('PERSIST', entry.key) -- a pending overlay must not expire
  end
  local published = is_complete and table.concat(values, ' ') or '?'
  lines[#lines + 1] = entry.entity .. ' ' .. integer(change) .. ' ' .. published
end
add_heat(heat)

redis.call('HSET', KEYS[1], 'folded:' .. source, to, 'change', integer(change), 'fence:' .. source, ARGV[5])
publish(KEYS[2], epoch, before, change, source, to, lines)
return { 'done' }

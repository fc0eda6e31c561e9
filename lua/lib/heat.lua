-- The heat of notes, summed in sorted sets, one per bucket of time. Put before the scripts that add to it.

-- A set that grows beyond this is cut down to its hottest notes: a ranking shows few, and merging sets takes time.
local MOST_HEATED, HEATED_KEPT = 4000, 2000

-- Reads what to add to the sets whose keys begin at `first`: for each set when it expires (Unix ms) and its number of
-- notes, then for each note its id and the heat. Fails, before anything is written, when an argument is missing.
local function read_heat(argument, first)
  local sets = {}
  for i = first, #KEYS do
    local set = { key = KEYS[i], ends_at = argument(), notes = {} }
    for j = 1, tonumber(argument()) do
      local note, heat = argument(), argument()
      set.notes[j] = { id = note, heat = tonumber(heat) and heat or error('heat is missing') }
    end
    sets[#sets + 1] = set
  end
  return sets
end

local function add_heat(sets)
  for _, set in ipairs(sets) do
    for _, note in ipairs(set.notes) do
      redis.call('ZINCRBY', set.key, note.heat, note.id)
    end
    if redis.call('ZCARD', set.key) > MOST_HEATED then
      redis.call('ZREMRANGEBYRANK', set.key, 0, -(HEATED_KEPT + 1))
    end
    redis.call('PEXPIREAT', set.key, set.ends_at)
  end
end

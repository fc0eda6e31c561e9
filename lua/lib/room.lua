-- The bound on a shard's log. Its owner says in "room" up to which offset events may be appended; who appends
-- the event that reaches it notes that in "full". So an append costs no command more, and the log stays bounded
-- also while there is no owner. Put, after offset.lua, before the scripts that append.

-- Whether the log has been full since its owner last made room.
local function is_full(room, full)
  return room and full == room
end

-- Takes in what was appended last.
local function note_append(meta, room, offset)
  if room and at_most(room, offset) then
    redis.call('HSET', meta, 'full', room)
  end
end

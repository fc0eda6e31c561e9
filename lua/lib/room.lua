-- The bound on a shard's log. Its owner keeps in "room" the number up to which events may be appended; whoever
-- appends that one puts 0 there, until the owner makes room again. So an append costs no command more, and the
-- log stays bounded also while there is no owner. Put before the scripts that append.

-- Whether nothing may be appended now.
local function is_full(room)
  return room == '0'
end

-- Takes in what was appended last.
local function note_append(meta, room, generation, offset)
  if room and tonumber(string.sub(offset, #generation + 2)) >= tonumber(room) then
    redis.call('HSET', meta, 'room', '0')
  end
end

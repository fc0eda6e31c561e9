-- Deleting many keys with few calls, because each call costs more than what it deletes. Put before the scripts that do.

-- Keys per call: Lua's stack is bounded.
local DELETED_AT_ONCE = 1000

local function delete_all(keys)
  for first = 1, #keys, DELETED_AT_ONCE do
    redis.call('DEL', unpack(keys, first, math.min(first + DELETED_AT_ONCE - 1, #keys)))
  end
end

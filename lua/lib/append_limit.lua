-- The bound on a shard's log. The shard's owner sets "append_limit" to the number up to which events may be appended.
-- The append that reaches it sets 0, and nothing more is appended until the owner sets a new limit. So an append
-- needs no extra command, and the log stays bounded while the shard has no owner. Put before the scripts that append.

-- Whether nothing may be appended now.
local function is_full(append_limit)
  return append_limit == '0'
end

-- Closes the log if this append reached the limit.
local function note_append(meta, append_limit, generation, offset)
  if append_limit and tonumber(string.sub(offset, #generation + 2)) >= tonumber(append_limit) then
    redis.call('HSET', meta, 'append_limit', '0')
  end
end

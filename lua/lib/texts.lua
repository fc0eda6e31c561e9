-- Texts of entities and the bound on their bytes. A text is kept apart from its entity's record, as "<slice> <JSON>":
-- it expires before that slice of time ends. The hash of a shard's texts has the bytes of each slice, so their sum is
-- never below the memory of all texts, and a slice that has ended counts no longer. Put before the scripts that write or
-- delete texts.

-- Memory of a key with its expiry, apart from the value.
local BYTES_PER_KEY = 150

-- Deletes a text and no longer counts it.
local function forget_text(text, bytes)
  local length = redis.call('STRLEN', text)
  if length > 0 then
    local slice = string.match(redis.call('GETRANGE', text, 0, 20), '^%d+')
    if slice and redis.call('HEXISTS', bytes, slice) == 1 then
      redis.call('HINCRBY', bytes, slice, -length - BYTES_PER_KEY)
    end
    redis.call('DEL', text)
  end
end

-- Find the commands that the user of this connection may not run.
-- KEYS[1]   meta  hash    of a shard; not read: rights are judged for a key and a channel with the name of the shard
-- ARGV[…]   commands, as an ACL names them: hget, client|tracking
-- Returns   {"done", …}   those that are refused, or not for such a key or channel
local lacking = { 'done' }
for _, command in ipairs(ARGV) do
  local words = {}
  for word in string.gmatch(command, '[^|]+') do
    words[#words + 1] = word
  end
  -- At least as many arguments as each of them needs: a server looks for keys at their places without counting, and
  -- Valkey 9.1.2 crashes where they are missing.
  for _ = 1, 4 do
    words[#words + 1] = KEYS[1]
  end
  -- An error: this server has no such command.
  local is_known, is_allowed = pcall(redis.acl_check_cmd, unpack(words))
  if is_known and not is_allowed then
    lacking[#lacking + 1] = command
  end
end
return lacking

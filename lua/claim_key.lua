-- Claim an idempotency key for an operation that is not an edge's flip.
-- The stored value has the form that flip_edge.lua stores: "<0|1> <offset or -> <operation>".
-- KEYS[1]  meta        hash    of the actor's shard
-- KEYS[2]  idempotency string  the client's key
-- ARGV[1]  operation  what the key stands for
-- ARGV[2]  kept       the value to store: "1 - " and the operation
-- ARGV[3]  keep       ms for which it is stored
-- Returns  {"fresh"}      claimed now
--          {"again"}      claimed before, for the same operation; nothing written, here and below
--          {"conflict"}   the key stands for another operation
--          {"not_ready"}  the shard is closed: its keys may be on their way to another shard
if redis.call('HEXISTS', KEYS[1], 'generation') == 0 then
  return { 'not_ready' }
end
local kept = redis.call('GET', KEYS[2])
if not kept then
  redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
  return { 'fresh' }
end
if string.match(kept, '^[01] %S+ (.+)$') == ARGV[1] then
  return { 'again' }
end
return { 'conflict' }

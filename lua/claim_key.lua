-- Claim an idempotency key for an operation that is not an edge's flip.
-- The stored value has the form that flip_edge.lua stores: "<0|1> <offset or -> <operation>".
-- KEYS[1]  idempotency string  the client's key
-- ARGV[1]  operation  what the key stands for
-- ARGV[2]  kept       the value to store: "1 - " and the operation
-- ARGV[3]  keep       ms for which it is stored
-- Returns  {"fresh"}     claimed now
--          {"again"}     claimed before, for the same operation; nothing written
--          {"conflict"}  the key stands for another operation; nothing written
local kept = redis.call('GET', KEYS[1])
if not kept then
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
  return { 'fresh' }
end
if string.match(kept, '^[01] %S+ (.+)$') == ARGV[1] then
  return { 'again' }
end
return { 'conflict' }

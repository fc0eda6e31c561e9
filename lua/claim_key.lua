-- Claim an idempotency key for an operation that is not an edge's flip.
-- What is kept has the form that flip_edge.lua keeps: "<0|1> <offset or -> <operation>".
-- KEYS[1]  idempotency string  the client's key
-- ARGV[1]  operation  what the key is to stand for
-- ARGV[2]  kept       what is kept: "1 - " and the operation
-- ARGV[3]  keep       ms for which it is kept
-- Returns  {"fresh"}     claimed now
--          {"again"}     claimed before, for the same operation; nothing written
--          {"conflict"}  it stands for another operation; nothing written
local kept = redis.call('GET', KEYS[1])
if not kept then
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
  return { 'fresh' }
end
if string.match(kept, '^[01] %S+ (.+)$') == ARGV[1] then
  return { 'again' }
end
return { 'conflict' }

-- Give up loads of counters: delete what this loader marked as loading.
-- KEYS[1…] counters hash  one per entity
-- ARGV[1]  token     as given when the load began
-- Returns  {"done"}
for i = 1, #KEYS do
  if redis.call('HGET', KEYS[i], 'load') == ARGV[1] then
    redis.call('DEL', KEYS[i])
  end
end
return { 'done' }

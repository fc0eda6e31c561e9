-- Give up loads of counters: remove the tokens that are this loader's own.
-- KEYS[1…] load token string  one per entity
-- ARGV[1]  token      as taken
-- Returns  {"done"}
for i = 1, #KEYS do
  if redis.call('GET', KEYS[i]) == ARGV[1] then
    redis.call('DEL', KEYS[i])
  end
end
return { 'done' }

-- Abandon loads of counters: delete the tokens that this loader holds.
-- KEYS[1…] load token string  one per entity
-- ARGV[1]  token      as taken
-- Returns  {"done"}
for i = 1, #KEYS do
  if redis.call('GET', KEYS[i]) == ARGV[1] then
    redis.call('DEL', KEYS[i])
  end
end
return { 'done' }

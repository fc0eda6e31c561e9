-- Keep counters of one shard longer, because somebody asked for them. Those that are being loaded keep their short life.
-- KEYS     counters  hash  one per entity
-- ARGV[1]  life      ms
-- Returns  {"done"}
for i = 1, #KEYS do
  if redis.call('HEXISTS', KEYS[i], 'load') == 0 then
    redis.call('PEXPIRE', KEYS[i], ARGV[1])
  end
end
return { 'done' }

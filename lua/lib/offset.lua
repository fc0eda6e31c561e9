-- Offsets of log entries, written "generation-number". Put before the scripts that compare them.
local function parts(offset)
  local generation, number = string.match(offset, '^(%d+)%-(%d+)$')
  return tonumber(generation), tonumber(number)
end

-- Returns a test for many offsets: whether one is at or before `limit`, which is parsed once.
local function at_or_before(limit)
  local limit_generation, limit_number = parts(limit)
  return function(offset)
    local generation, number = parts(offset)
    return generation < limit_generation or (generation == limit_generation and number <= limit_number)
  end
end

-- Whether offset a is at or before offset b.
local function at_most(a, b)
  return at_or_before(b)(a)
end

local function later(a, b)
  return at_most(a, b) and b or a
end

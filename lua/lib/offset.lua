-- Offsets of log entries, written "generation-number". Put before the scripts that compare them.
local function parts(offset)
  local generation, number = string.match(offset, '^(%d+)%-(%d+)$')
  return tonumber(generation), tonumber(number)
end

-- Whether offset a is at or before offset b.
local function at_most(a, b)
  local ga, na = parts(a)
  local gb, nb = parts(b)
  return ga < gb or (ga == gb and na <= nb)
end

local function later(a, b)
  return at_most(a, b) and b or a
end

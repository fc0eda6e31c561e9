-- Reading arguments one after the other. Put before the scripts that take lists of lists.

-- Gives one argument after the other, beginning behind position `at`.
local function arguments_after(at)
  return function()
    at = at + 1
    return ARGV[at]
  end
end

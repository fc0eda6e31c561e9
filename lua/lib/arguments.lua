-- Reading arguments in order. Put before the scripts that take lists of lists.

-- Returns a function that returns one argument after the other, starting after position `at`.
local function arguments_after(at)
  return function()
    at = at + 1
    return ARGV[at]
  end
end

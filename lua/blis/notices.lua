--- What a person should know although nothing is wrong, on standard error and once.
local notices = {}

local stderr = io.stderr
local told = {}

local function tell(line)
  if told[line] then return end
  told[line] = true
  stderr:write("blis: note: ", line, "\n")
end

local take = tell

--- Prints every line that was not printed before.
---@param lines string
function notices.tell(lines)
  for line in lines:gmatch("[^\n]+") do take(line) end
end

--- Redirects all further lines to a function, for processes whose parent prints them.
---@param fn fun(line: string)
---@return fun(line: string) before what took them so far
function notices.collect(fn)
  local before = take
  take = fn
  return before
end

return notices

--- What a person should know although nothing is wrong, on standard error and once.
local notices = {}

local stderr = io.stderr
local told = {}

--- Tells every line that was not told before.
---@param lines string
function notices.tell(lines)
  for line in lines:gmatch("[^\n]+") do
    if not told[line] then
      told[line] = true
      stderr:write("blis: note: ", line, "\n")
    end
  end
end

return notices

--- Reads whole files.
local core = require "blis.core"
local errors = require "blis.errors"

local text_file = {}

--- Reads one; raises with its name and why it cannot be read.
---@param path string
---@return string
function text_file.read(path)
  local file, problem = core.open_input(path)
  if not file then errors.raise("io", "cannot open " .. problem) end
  local text
  text, problem = file:read "a"
  file:close()
  if not text then errors.raise("io", ("cannot read %s: %s"):format(path, problem)) end
  return text
end

return text_file

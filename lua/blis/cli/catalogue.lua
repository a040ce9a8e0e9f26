--- The catalog of a command: the built-in one and the files of --catalogue.
local library = require "blis.catalogue"

local catalogue = {}

--- Adds the files of --catalogue.
---@param parsed blis.cli.Parsed
function catalogue.add(parsed)
  for _, path in ipairs(parsed.values.catalogue.files or {}) do library.add(path) end
end

return catalogue

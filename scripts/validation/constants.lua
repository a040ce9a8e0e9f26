--- The constants of the composed model with other values, as a catalogue file.
local core = require "blis.core"
local sorted = require "blis.sorted"

local constants = {}

local path = "data/latency/composed.yaml"

--- The entries of the shipped constants, a new copy.
---@return table[]
function constants.read() return core.yaml_read(path).composed end

local function text_of(value)
  if type(value) == "string" then return value end
  if type(value) == "number" then return ("%.17g"):format(value) end
  local parts = {}
  if value[1] ~= nil or next(value) == nil then
    for i, item in ipairs(value) do parts[i] = text_of(item) end
    return "[" .. table.concat(parts, ", ") .. "]"
  end
  for _, key in ipairs(sorted.names(value)) do
    parts[#parts + 1] = ("%s: %s"):format(key, text_of(value[key]))
  end
  return "{" .. table.concat(parts, ", ") .. "}"
end

--- Writes entries to a temporary file, which the caller removes.
---@param entries table[]
---@return string path
function constants.write(entries)
  local name = os.tmpname()
  os.remove(name)
  name = name .. ".yaml"
  local file = assert(io.open(name, "w"))
  file:write(text_of { composed = entries }, "\n")
  file:close()
  return name
end

return constants

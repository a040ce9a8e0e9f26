--- Fields of CSV lines (RFC 4180).
local core = require "blis.core"

local csv = {}

--- Numbers as short as they read back equal, lists with spaces between their items, "" for nil.
---@param value any
---@return string
function csv.field(value)
  if value == nil then return "" end
  local text = value
  if type(value) == "table" then text = table.concat(value, " ") end
  if type(value) == "number" then text = core.json_writer():item(value):take() end
  text = tostring(text)
  if text:find('[",\r\n]') then return '"' .. text:gsub('"', '""') .. '"' end
  return text
end

return csv

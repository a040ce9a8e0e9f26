--- Endings of file names by content. Readers and blis itself use the ending to select among several
--- formats. An unknown ending is an error before anything is computed.
local errors = require "blis.errors"

local endings = {
  page = { ".html", ".htm" },
  timeline = { ".json", ".json.gz" },
  picture = { ".svg", ".png", ".pdf", ".txt" },
  svg = { ".svg" },
  rows = { ".csv", ".jsonl" },
  csv = { ".csv" },
  lines = { ".jsonl", ".ndjson" },
  markdown = { ".md", ".markdown" },
  json = { ".json" },
  xml = { ".xml" },
  yaml = { ".yaml", ".yml" },
}

-- Every output rejects these endings separately, and names the option that writes such files.
local told_elsewhere = { parquet = true, arrow = true, feather = true, orc = true }

--- ".svg, .png or .txt"
local function words(list)
  local last = #list
  if last == 1 then return list[1] end
  return table.concat(list, ", ", 1, last - 1) .. " or " .. list[last]
end

--- What is wrong with the name of a file, if something is. Standard output and devices have no
--- endings.
---@param path string
---@param list string[]
---@return string? problem "expected a name that ends in .html or .htm"
function endings.problem(path, list)
  if path == "-" or path:find "^/dev/" then return nil end
  local name = path:lower()
  if told_elsewhere[name:match "%.(%w+)$"] then return nil end
  for _, one in ipairs(list) do
    if name:sub(-#one) == one then return nil end
  end
  return "expected a name that ends in " .. words(list)
end

--- Raises unless a value is the path of a file that ends in one of these.
---@param where string the method that was called
---@param path any
---@param list string[]
function endings.check(where, path, list)
  errors.check_path(where, path)
  local problem = endings.problem(path, list)
  if problem then errors.invalid("%s: %s: %s", where, errors.invalid_value(path), problem) end
end

return endings

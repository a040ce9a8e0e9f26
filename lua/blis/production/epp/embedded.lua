--- EndpointPickerConfigs inside other files: values of Helm charts, ConfigMaps, resources with
--- several documents, and custom resources of KServe.
local core = require "blis.core"
local errors = require "blis.errors"

local embedded = {}

local function indent_of(line) return #line:match "^ *" end

local function is_blank(line) return not line:find "%S" end

--- Whether the line separates two documents.
local function is_border(line) return line:find "^%-%-%-%s*$" or line:find "^%-%-%-%s" end

--- The lines around a line that belong to the same block: blank ones, and those with at least its
--- indentation.
local function block_around(lines, at)
  local indent = indent_of(lines[at])
  local function belongs(line)
    return is_blank(line) or indent_of(line) >= indent and not is_border(line)
  end
  local first, last = at, at
  while first > 1 and belongs(lines[first - 1]) do first = first - 1 end
  while last < #lines and belongs(lines[last + 1]) do last = last + 1 end
  return { first = first, last = last, indent = indent, line = at,
    key = first > 1 and lines[first - 1]:match "^%s*[\"']?([%w_.%-]+)[\"']?%s*:" or nil }
end

--- The block that `pluginsConfigFile: NAME` names, if the file has such a line.
local function chosen(blocks, text)
  local name = text:match "pluginsConfigFile:%s*[\"']?([^%s\"']+)"
  for _, block in ipairs(blocks) do
    if name and block.key == name then return block end
  end
end

local function fail_ambiguous(blocks, path)
  local places = {}
  for i, block in ipairs(blocks) do
    places[i] = ("%s at line %d"):format(block.key or "one", block.first)
  end
  errors.raise("parse", ("%s: %d configurations (%s); expected one: copy it to a separate file")
    :format(path, #blocks, table.concat(places, ", ")))
end

--- Adds the configurations that are strings of a document, such as the data of a ConfigMap in JSON.
local function add_strings(value, where, found)
  for key, member in pairs(type(value) == "table" and value or {}) do
    if type(member) == "string" and member:find "kind[\"']?%s*:%s*[\"']?EndpointPickerConfig" then
      local place = (where[value] or {})[key]
      found[#found + 1] = { text = member, key = tostring(key), first = place and place[1] or 1 }
    end
    add_strings(member, where, found)
  end
end

--- The documents of a file, each at its lines.
local function documents_of(lines)
  local list, first = {}, 1
  for i = 1, #lines + 1 do
    if i > #lines or is_border(lines[i]) then
      list[#list + 1] = ("\n"):rep(first - 1) .. table.concat(lines, "\n", first, i - 1)
      first = i + 1
    end
  end
  return list
end

--- The configuration in a quoted string of the file; nil if there is none.
local function quoted(lines, text, path)
  local found = {}
  if not text:find("EndpointPickerConfig", 1, true) then return nil end
  for _, document in ipairs(documents_of(lines)) do
    local ok, root, where = pcall(core.yaml_parse, document, path)
    if ok then add_strings(root, where, found) end
  end
  local block = #found == 1 and found[1] or chosen(found, text)
  if #found > 0 and not block then fail_ambiguous(found, path) end
  return block
end

--- The configuration of a file, at the lines that it has there. Other lines are blank. The second
--- result is the line of the configuration, nil if the file has nothing else.
---@param text string
---@param path string
---@return string text
---@return integer? line
function embedded.find(text, path)
  local lines, blocks = {}, {}
  for line in (text:gsub("\r\n", "\n") .. "\n"):gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
  for i, line in ipairs(lines) do
    if line:find "^%s*kind:%s*[\"']?EndpointPickerConfig" then
      blocks[#blocks + 1] = block_around(lines, i)
    end
  end
  local string = #blocks == 0 and quoted(lines, text, path)
  if string then return ("\n"):rep(string.first - 1) .. string.text, string.first end
  local has_borders = text:find "\n%-%-%-%s*\n"
  local is_whole_file = #blocks == 0
  for _, block in ipairs(blocks) do
    is_whole_file = is_whole_file or block.indent == 0 and not has_borders
  end
  if is_whole_file then return text end
  local block = #blocks == 1 and blocks[1] or chosen(blocks, text)
  if not block then fail_ambiguous(blocks, path) end
  for i, line in ipairs(lines) do
    local is_inside = i >= block.first and i <= block.last
    lines[i] = is_inside and line:sub(block.indent + 1) or ""
  end
  return table.concat(lines, "\n"), block.first
end

return embedded

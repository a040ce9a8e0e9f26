--- The files that a command writes: they are looked at before anything is simulated.
local core = require "blis.core"
local flags = require "blis.cli.flags"

local outputs = {}

--- The files of a path that is only a name.
local function files_of(definition, option, path)
  local files, problem = option.files(path)
  if not files then
    flags.fail(definition, "%s: invalid value '%s': %s", option.flag, path, problem)
  end
  return files
end

--- The paths on the command line, in the order of the flags: { { flag =, path =, is_output = }, ...
--- }.
local function paths_of(definition, parsed)
  local list = {}
  for _, group in ipairs(definition.groups) do
    for _, option in ipairs(group.options) do
      local value = option.type == "path" and parsed.values[group.section][option.name]
      if type(value) ~= "table" then value = { value or nil } end
      if option.files and value[1] then value = files_of(definition, option, value[1]) end
      for _, path in ipairs(value) do
        list[#list + 1] = { flag = option.flag, path = path, is_output = option.is_output }
      end
    end
  end
  for _, path in ipairs(parsed.positionals or { parsed.positional }) do
    list[#list + 1] = { flag = definition.positional.name, path = path }
  end
  return list
end

--- Identifies the file of a path, if possible.
local function place_of(one)
  if one.path == "-" then return one.is_output and "standard output" or "standard input" end
  return (one.path:gsub("/+", "/"):gsub("^%./", ""):gsub("/%./", "/"))
end

--- Fails if outputs equal each other or an input, or if an output cannot be written.
---@param definition blis.cli.Command
---@param parsed blis.cli.Parsed
function outputs.check(definition, parsed)
  local list, first = paths_of(definition, parsed), {}
  for _, one in ipairs(list) do
    local path = place_of(one)
    local other = first[path]
    if other and (other.is_output or one.is_output) and path ~= "/dev/null" then
      flags.fail(definition, "%s and %s are both '%s'", other.flag, one.flag, one.path)
    end
    first[path] = other or one
  end
  for _, one in ipairs(list) do
    if one.is_output then core.output_probe(one.path) end
  end
end

--- Returns whether a file is written to standard output. If so, nothing else is.
---@param definition blis.cli.Command
---@param parsed blis.cli.Parsed
---@return boolean
function outputs.take_standard_output(definition, parsed)
  for _, one in ipairs(paths_of(definition, parsed)) do
    if one.is_output and one.path == "-" then return true end
  end
  return false
end

return outputs

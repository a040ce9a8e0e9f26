--- The catalogue of models, GPUs and coefficients, with a user's own files.
local core = require "blis.core"
local errors = require "blis.errors"

local catalogue = {}

local function read_file(path)
  local file, problem = io.open(path, "rb")
  local text = file and file:read("a")
  if file then file:close() end
  if not text then errors.raise("io", problem or path .. ": cannot be read") end
  return text
end

--- Adds the files of --catalogue.
---@param parsed blis.cli.Parsed
function catalogue.add(parsed)
  for _, path in ipairs(parsed.values.catalogue.files or {}) do
    core.catalogue_add(path, read_file(path))
  end
end

local function matches(wanted, name, aliases)
  wanted = wanted:lower()
  if name:lower() == wanted then return true end
  for _, alias in ipairs(aliases) do
    if alias:lower() == wanted then return true end
  end
  return false
end

--- What counts when a name is there more than once: the last entry, at the place of the first.
---@param entries table[]
---@param key string
---@return table[]
function catalogue.latest(entries, key)
  local list, place = {}, {}
  for _, entry in ipairs(entries) do
    local name = entry[key]:lower()
    place[name] = place[name] or #list + 1
    list[place[name]] = entry
  end
  return list
end

--- The model of that id, alias or last part of an id; raises when there is none.
---@param name string
---@return table
function catalogue.model(name)
  local id = core.model_id(name)
  for _, model in ipairs(catalogue.latest(core.models(), "id")) do
    if model.id == id then return model end
  end
end

--- The GPU of that name or alias; raises when there is none.
---@param name string
---@return table
function catalogue.hardware(name)
  local entries = catalogue.latest(core.hardware(), "name")
  local names = {}
  for i, gpu in ipairs(entries) do
    if matches(name, gpu.name, gpu.aliases) then return gpu end
    names[i] = gpu.name
  end
  errors.invalid("unknown GPU '%s'%s", name, errors.suggestion(name, names))
end

return catalogue

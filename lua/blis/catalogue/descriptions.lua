--- Descriptions of models and GPUs outside of the catalogue: a model's own config.json, and files
--- in the folder of the script: models/NAME.yaml, models/NAME/config.json, and hardware/NAME.yaml.
local core = require "blis.core"
local errors = require "blis.errors"

local descriptions = {}

---@param path string
---@return boolean
local function exists(path)
  local file = core.open_input(path)
  if file then file:close() end
  return file ~= nil
end

-- A longer file is none of text: a device that never ends, for instance.
local most_bytes = 1 << 30

--- The rest of an open file.
local function rest_of(file)
  local parts, size = {}, 0
  while size <= most_bytes do
    local part, problem = file:read(1 << 20)
    if problem then return nil, problem end
    if not part then return table.concat(parts) end
    parts[#parts + 1], size = part, size + #part
  end
  return nil, ("holds more than %d bytes, the most allowed here"):format(most_bytes)
end

--- The text of a file.
---@param path string
---@return string
function descriptions.read(path)
  local file <close>, opening = core.open_input(path)
  if not file then errors.raise("io", opening) end
  local text, problem = rest_of(file)
  if not text then errors.raise("io", path .. ": " .. problem) end
  return text
end

--- The config.json that a model's name stands for; nil when it is a name of the catalogue.
---@param name string
---@return string?
function descriptions.config_path(name)
  if name:match("%.json$") then return name end
  if name:match("^%.*/") or exists(name .. "/config.json") then return name end
  return nil
end

--- "Qwen3-14B-FP8" of "models/Qwen3-14B-FP8/config.json".
---@param path string
---@return string
function descriptions.name_of(path)
  local trimmed = path:gsub("/+$", ""):gsub("/?config%.json$", ""):gsub("%.json$", "")
  local name = trimmed:match("([^/]+)$")
  return name and name:match("[^.]") and name or "model"
end

--- The file in the folder of the script that is named after a model ("models") or a GPU
--- ("hardware"), by its full name or the last part of it.
---@param folder "models"|"hardware"
---@param name string
---@return string?
function descriptions.beside(folder, name)
  local base = errors.script_folder() .. folder .. "/"
  if #core.folder(base) == 0 then return nil end
  local short = name:match("([^/]+)$")
  local names = short == name and { name } or { name, short }
  if name:find("..", 1, true) then names = {} end
  for _, one in ipairs(names) do
    for _, ending in ipairs { ".yaml", "/config.json" } do
      if exists(base .. one .. ending) then return base .. one .. ending end
    end
  end
end

--- All files that beside() can find, in the order of names.
---@param folder "models"|"hardware"
---@return { name: string, path: string }[]
function descriptions.all_beside(folder)
  local base, found = errors.script_folder() .. folder .. "/", {}
  for _, file in ipairs(core.folder(base)) do
    local name = file:match("^(.*)%.yaml$")
    if name then
      found[#found + 1] = { name = name, path = base .. file }
    elseif exists(base .. file .. "/config.json") then
      found[#found + 1] = { name = file, path = base .. file .. "/config.json" }
    end
  end
  return found
end

return descriptions

--- Workload specifications from YAML files (version 2 of BLIS in Go), as tables for blis.run.
local core = require "blis.core"
local errors = require "blis.errors"
local workload = require "blis.workload"

local workload_spec = {}

-- Keys that only describe.
local labels = {
  top = { version = true, category = true },
  client = { network = true },
}

-- Keys that a file may have, and what is missing here for them.
local unavailable = {
  top = {
    servegen_data = "there is no conversion of ServeGen data",
    inference_perf = "there is no conversion of inference-perf files",
    goodput_slo_targets = "goodput is not computed",
  },
  client = { adapter = "there are no LoRA adapters" },
}

local renamed_classes = { realtime = "critical", interactive = "standard" }

---@class blis.SpecFile
---@field path string
---@field root table
---@field where table<table, table<string|integer, { [1]: integer, [2]: string? }>>

--- The line of the value that a message is about: the deepest one on its path that is in the file.
local function line_of(file, message)
  local path = message:match("^workload%.?([%w_%.%[%]]*)")
  local line, place = 1, file.root
  for name, index in (path or ""):gmatch("([%w_]*)%[?(%d*)%]?%.?") do
    for _, key in ipairs { name, tonumber(index) } do
      local known = key ~= "" and type(place) == "table" and file.where[place]
        and file.where[place][key]
      if known then
        line = known[1]
        place = place[key]
      end
    end
  end
  return line
end

--- Calls fn(...); a message about the workload gets file and line.
---@param file blis.SpecFile
function workload_spec.located(file, fn, ...)
  local results = table.pack(pcall(fn, ...))
  if results[1] then return table.unpack(results, 2, results.n) end
  local object = results[2]
  local message = type(object) == "table" and type(object.message) == "string"
    and object.message:match("%f[%w]workload%f[%W].*")
  if message then
    object.message = ("%s:%d: %s"):format(file.path, line_of(file, message),
      (message:gsub("^workload[%.:]? ?", "")))
    object.code = "parse"
  end
  error(object, 0)
end

local function is_nothing(value)
  return value == nil or value == false or value == 0 or value == ""
end

--- The keys that blis.run knows; raises for those that ask for more.
local function known_keys(given, kind, path)
  local copy, keys = {}, {}
  for key in pairs(given) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  for _, key in ipairs(keys) do
    local reason = unavailable[kind][key]
    if reason and not is_nothing(given[key]) then
      errors.invalid("%s.%s is not available: %s", path, key, reason)
    end
    if not reason and not labels[kind][key] then copy[key] = given[key] end
  end
  return copy
end

--- Texts that look like numbers are texts where a text is due: "tenant_id: 7".
local function keep_texts(file, given, copy, keys)
  for _, key in ipairs(keys) do
    if type(copy[key]) == "number" then copy[key] = file.where[given][key][2] end
  end
end

--- A copy in which empty texts are left out, as they mean that nothing was given.
local function without_empty(given)
  local copy = {}
  for key, value in pairs(given) do
    if type(value) == "table" then
      copy[key] = without_empty(value)
    elseif value ~= "" then
      copy[key] = value
    end
  end
  return copy
end

local function read_client(file, given, path, is_old)
  if type(given) ~= "table" then
    errors.invalid("%s: %s is not allowed, expected a mapping", path, errors.show(given))
  end
  local client = known_keys(given, "client", path)
  keep_texts(file, given, client, { "id", "tenant_id", "model", "prefix_group" })
  if is_old then client.slo_class = renamed_classes[client.slo_class] or client.slo_class end
  return without_empty(client)
end

local function read_list(file, given, name, is_old)
  if type(given) ~= "table" then
    errors.invalid("workload.%s: %s is not allowed, expected a list", name, errors.show(given))
  end
  local list = {}
  for i, one in ipairs(given) do
    list[i] = read_client(file, one, ("workload.%s[%d]"):format(name, i), is_old)
  end
  return list
end

local function check_version(file)
  local version = file.root.version
  if type(version) == "number" then version = file.where[file.root].version[2] end
  if version ~= nil and version ~= "" and version ~= "1" and version ~= "2" then
    errors.invalid("workload.version: %s is not allowed, expected 1 or 2", errors.show(version))
  end
  return version ~= "2"
end

local function read_root(file)
  if type(file.root) ~= "table" then
    errors.invalid("workload: %s is not allowed, expected a mapping", errors.show(file.root))
  end
  local is_old = check_version(file)
  local spec = known_keys(file.root, "top", "workload")
  if type(spec.clients) ~= "table" and type(spec.cohorts) ~= "table" then
    errors.invalid("workload.clients: %s is not allowed, expected a list",
      errors.show(spec.clients))
  end
  for _, name in ipairs { "clients", "cohorts" } do
    if spec[name] then spec[name] = read_list(file, spec[name], name, is_old) end
  end
  if spec.horizon == 0 then spec.horizon = nil end
  return spec
end

--- Reads a specification; errors name file and line.
---@param path string
---@return table spec what blis.run takes as workload
---@return blis.SpecFile file
function workload_spec.read(path)
  local root, where = core.yaml_read(path)
  local file = { path = path, root = root, where = where }
  local spec = workload_spec.located(file, read_root, file)
  -- A horizon or a number of requests may still come from the command line.
  workload_spec.located(file, workload.read, spec, "workload", { seed = 0, horizon_us = 1 })
  return spec, file
end

return workload_spec

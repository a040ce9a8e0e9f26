--- Models, GPUs and coefficients by name: those that come with the program, and a user's own.
local core = require "blis.core"
local deferred = require "blis.deferred"
local descriptions = require "blis.catalogue.descriptions"
local errors = require "blis.errors"
local show = require "blis.show"
local json = deferred "blis.json"
local listing = require "blis.listing"
local notices = require "blis.notices"
local schema = require "blis.config.schema"

local catalogue = {}

-- Files for everything that this program does: those of --catalogue.
local common = {}

-- Catalogues by everything that went into them; parameter studies ask for the same ones often.
local made, made_count, made_limit = {}, 0, 8

--- Adds a YAML file for everything that follows.
---@param path string
function catalogue.add(path)
  common[#common + 1] = { name = path, text = descriptions.read(path) }
end

local added_meta = {
  __close = function(added)
    for i, one in ipairs(common) do
      if one == added then table.remove(common, i) end
    end
  end,
}

--- Adds a location to all following errors, until the value is closed. The caller may change the
--- location.
---@param name string for messages
---@return { name: string, text: string }
function catalogue.add_text(name)
  local added = setmetatable({ name = name, text = "" }, added_meta)
  common[#common + 1] = added
  return added
end

--- A description in a table as a catalog document (JSON is YAML).
---@param list string "models", "hardware"
---@param entry table
---@param name string what messages call it
---@return { name: string, text: string }
function catalogue.text_of(list, entry, name)
  local keys = {}
  for key in pairs(entry) do keys[#keys + 1] = tostring(key) end
  table.sort(keys)
  local writer = core.json_writer():object():array(list):object()
  for _, key in ipairs(keys) do
    json.write(writer, key, entry[key])
  end
  return { name = name, text = writer:done():done():done():take() }
end

---@class blis.CatalogueSources each overrides the previous ones
---@field beside? string[] files in the folder of the script
---@field files? string[]
---@field texts? { name: string, text: string }[]

--- The catalog of the program with these files and documents.
---@param sources blis.CatalogueSources
---@return userdata? nil = what is compiled in is all
function catalogue.with(sources)
  local all = {}
  local function add_files(paths)
    for _, path in ipairs(paths) do
      all[#all + 1] = { name = path, text = descriptions.read(path) }
    end
  end
  add_files(sources.beside or {})
  table.move(common, 1, #common, #all + 1, all)
  add_files(sources.files or {})
  table.move(sources.texts or {}, 1, #(sources.texts or {}), #all + 1, all)
  if #all == 0 then return nil end
  local parts = {}
  for i, one in ipairs(all) do parts[i] = one.name .. "\0" .. one.text end
  local key = table.concat(parts, "\0")
  if not made[key] then
    if made_count == made_limit then made, made_count = {}, 0 end
    made[key] = errors.located(core.catalogue, all)
    made_count = made_count + 1
  end
  return made[key]
end

--- The default GPU of a model, if any.
---@param model string
---@param known userdata? of catalogue.with
---@return string?
function catalogue.usual_hardware(model, known)
  local is_known, _, hardware = pcall(core.model_id, model, known)
  return is_known and hardware or nil
end

local function show_gib(bytes)
  return bytes and ("%.1f"):format(bytes / (1 << 30)) or "-"
end

--- How lists of models are shown.
---@type blis.Column[]
catalogue.model_columns = {
  { key = "id", title = "model" },
  { key = "layers", title = "layers",
    show = function(layers) return layers and listing.show(layers) or "needs a config.json" end },
  { key = "hidden_size", title = "hidden" },
  { key = "attention_heads", title = "heads" },
  { key = "kv_heads", title = "KV heads" },
  { key = "experts", title = "experts" },
  { key = "weight_bytes", title = "weights (GiB)", show = show_gib },
  { key = "max_model_tokens", title = "longest" },
  { key = "hardware", title = "usual GPU", is_text = true },
  { key = "tp", title = "tp" },
  { key = "aliases", title = "aliases", is_hidden = true },
  { key = "source", title = "source", is_hidden = true },
}

--- How lists of GPUs are shown.
---@type blis.Column[]
catalogue.hardware_columns = {
  { key = "name", title = "GPU" },
  { key = "memory_gib", title = "memory (GiB)" },
  { key = "usable_gib", title = "usable (GiB)", is_hidden = true },
  { key = "bandwidth_tb_s", title = "bandwidth (TB/s)" },
  { key = "peak_tflops", title = "16-bit TFLOPS" },
  { key = "fp8_tflops", title = "FP8 TFLOPS" },
  { key = "fp4_tflops", title = "FP4 TFLOPS" },
  { key = "int8_tops", title = "INT8 TOPS", is_hidden = true },
  { key = "link", title = "link", is_text = true },
  { key = "link_gb_s", title = "link (GB/s)", is_hidden = true },
  { key = "mfu_prefill", title = "MFU prefill", is_hidden = true },
  { key = "mfu_decode", title = "MFU decode", is_hidden = true },
  { key = "price_per_hour", title = "USD/h" },
  { key = "price_source", title = "price from", is_text = true },
  { key = "aliases", title = "aliases", is_text = true, is_hidden = true },
  { key = "source", title = "source", is_hidden = true },
}

--- A list of a catalogue, which prints as a table.
local function printed(entries, columns)
  for _, entry in pairs(entries) do
    if type(entry) == "table" then show.figures(entry) end
  end
  return setmetatable(entries, {
    __tostring = function(list)
      return (listing.text({ columns = columns, rows = list }, "table"):gsub("\n$", ""))
    end,
  })
end

---@type blis.Section
local list_section = {
  name = "catalogue",
  summary = "Additional models, GPUs, and coefficients.",
  options = {
    {
      name = "catalogue", type = "paths",
      doc = "YAML files with additional models, GPUs, and coefficients; they override the catalog.",
    },
  },
}

local function read_options(options, path)
  if type(options) == "string" then return nil, options end
  return schema.read(list_section, options, path).catalogue, nil
end

local function matches(wanted, name, aliases)
  wanted = wanted:lower()
  if name:lower() == wanted then return true end
  for _, alias in ipairs(aliases) do
    if alias:lower() == wanted then return true end
  end
  return false
end

local function find_gpu(entries, wanted)
  local names = {}
  for i, gpu in ipairs(entries) do
    if matches(wanted, gpu.name, gpu.aliases) then return gpu end
    names[i] = gpu.name
  end
  errors.invalid("unknown GPU %s%s", errors.show(wanted), errors.suggestion(wanted, names))
end

--- Descriptions in the folder of the script: YAML files, and models in config.json files. Files
--- that cannot be interpreted cause a note, because they may have another purpose.
---@param folder "models"|"hardware"
---@return string[] paths
---@return table[] models
local function all_beside(folder)
  local paths, models = {}, {}
  for _, one in ipairs(descriptions.all_beside(folder)) do
    local is_yaml = one.path:match("%.yaml$")
    local ok, result
    if is_yaml then
      ok, result = pcall(catalogue.with, { beside = { one.path } })
    else
      ok, result = pcall(core.model_config, one.path, one.name)
    end
    if not ok then
      notices.tell("skipped: " .. tostring(result))
    elseif is_yaml then
      paths[#paths + 1] = one.path
    else
      models[#models + 1] = result
    end
  end
  return paths, models
end

--- The model that a name stands for in an experiment.
local function find_model(name)
  local config = descriptions.config_path(name)
  if config then
    return errors.located(core.model_config, config, descriptions.name_of(config))
  end
  local file = descriptions.beside("models", name)
  if file and not file:match("%.yaml$") then
    return errors.located(core.model_config, file, name)
  end
  local known = catalogue.with { beside = { file } }
  local found = errors.located(core.model_id, name, known)
  for _, model in ipairs(core.models(known)) do
    if model.id == found then return model end
  end
end

--- All models: the catalog in order, and models in the folder of the script; `print(blis.models())`
--- shows a table. With a name: the model with that ID, alias, or last part of an ID, or the model
--- of that config.json.
---@param options? { catalogue?: string|string[] }|string
---@return table
function catalogue.models(options)
  local files, name = read_options(options, "models")
  if name then return find_model(name) end
  local paths, others = all_beside("models")
  local entries = core.models(catalogue.with { beside = paths, files = files })
  table.move(others, 1, #others, #entries + 1, entries)
  return printed(entries, catalogue.model_columns)
end

--- All GPUs: the catalog in order, and GPUs in the folder of the script; `print(blis.hardware())`
--- shows a table. With a name: the GPU with that name or alias.
---@param options? { catalogue?: string|string[] }|string
---@return table
function catalogue.hardware(options)
  local files, name = read_options(options, "hardware")
  local paths = all_beside("hardware")
  local entries = core.hardware(catalogue.with { beside = paths, files = files })
  return name and find_gpu(entries, name) or printed(entries, catalogue.hardware_columns)
end

--- The name that a GPU of a name or alias has, and its price; an error names the nearest one.
---@param name string
---@param known userdata? of catalogue.with
---@return string name
---@return number? price_per_hour nil: unspecified
function catalogue.gpu_name(name, known)
  local gpu = find_gpu(core.hardware(known), name)
  return gpu.name, gpu.price_per_hour
end

return catalogue

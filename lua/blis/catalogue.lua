--- Models, GPUs and coefficients by name: those that come with the program, and a user's own.
local core = require "blis.core"
local errors = require "blis.errors"
local listing = require "blis.cli.listing"
local schema = require "blis.config.schema"

local catalogue = {}

-- Files for everything that this program does: those of --catalogue.
local common = {}

-- Catalogues by everything that went into them; parameter studies ask for the same ones often.
local made, made_count, made_limit = {}, 0, 8

local function read_file(path)
  local file, problem = io.open(path, "rb")
  local text = file and file:read("a")
  if file then file:close() end
  if not text then errors.raise("io", problem or path .. ": cannot be read") end
  return text
end

--- Adds a YAML file for everything that follows.
---@param path string
function catalogue.add(path)
  common[#common + 1] = { name = path, text = read_file(path) }
end

--- A description in a table as a text of the catalogue (JSON is YAML).
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
    local value = entry[key]
    if type(value) == "table" then
      writer:array(key)
      for _, item in ipairs(value) do writer:item(item) end
      writer:done()
    else
      writer:field(key, value)
    end
  end
  return { name = name, text = writer:done():done():done():take() }
end

---@class blis.CatalogueSources each goes before the ones above it
---@field beside? string[] files beside the script
---@field files? string[]
---@field texts? { name: string, text: string }[]

--- The catalogue of the program with these files and texts.
---@param sources blis.CatalogueSources
---@return userdata? nil = what is compiled in is all
function catalogue.with(sources)
  local all = {}
  local function add_files(paths)
    for _, path in ipairs(paths) do all[#all + 1] = { name = path, text = read_file(path) } end
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

--- The usual GPU of a model, if there is one.
---@param model string
---@param known userdata? of catalogue.with
---@return string?
function catalogue.usual_hardware(model, known)
  local is_known, _, hardware = pcall(core.model_id, model, known)
  return is_known and hardware or nil
end

--- What counts when a name is there more than once: the last entry, at the place of the first.
local function latest(entries, key)
  local list, place = { fields = entries.fields }, {}
  for _, entry in ipairs(entries) do
    local name = entry[key]:lower()
    place[name] = place[name] or #list + 1
    list[place[name]] = entry
  end
  return list
end

local function show_gib(bytes)
  return bytes and ("%.1f"):format(bytes / (1 << 30)) or "-"
end

--- How lists of models are shown.
---@type blis.cli.Column[]
catalogue.model_columns = {
  { key = "id", title = "model" },
  { key = "layers", title = "layers" },
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
---@type blis.cli.Column[]
catalogue.hardware_columns = {
  { key = "name", title = "GPU" },
  { key = "memory_gib", title = "memory (GiB)" },
  { key = "bandwidth_tb_s", title = "bandwidth (TB/s)" },
  { key = "peak_tflops", title = "16-bit TFLOPS" },
  { key = "fp8_tflops", title = "FP8 TFLOPS" },
  { key = "mfu_prefill", title = "MFU prefill" },
  { key = "mfu_decode", title = "MFU decode" },
  { key = "price_per_hour", title = "USD/h" },
  { key = "aliases", title = "also called", is_text = true },
  { key = "source", title = "source", is_hidden = true },
}

--- A list of a catalogue, which prints as a table.
local function printed(entries, columns)
  return setmetatable(entries, {
    __tostring = function(list)
      return (listing.text({ columns = columns, rows = list }, "table"):gsub("\n$", ""))
    end,
  })
end

---@type blis.Section
local list_section = {
  name = "catalogue",
  summary = "Models, GPUs and coefficients beside those that come with the program.",
  options = {
    {
      name = "catalogue", type = "paths",
      doc = "YAML files with more models, GPUs and coefficients; what they say goes before the "
        .. "rest.",
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
  errors.invalid("unknown GPU '%s'%s", wanted, errors.suggestion(wanted, names))
end

--- The models of the catalogue, in its order; `print(blis.models())` shows a table. With a name:
--- the model of that id, alias or last part of an id.
---@param options? { catalogue?: string|string[] }|string
---@return table
function catalogue.models(options)
  local files, name = read_options(options, "models")
  local known = catalogue.with { files = files }
  local entries = latest(core.models(known), "id")
  if not name then return printed(entries, catalogue.model_columns) end
  local id = errors.located(core.model_id, name, known)
  for _, model in ipairs(entries) do
    if model.id == id then return model end
  end
end

--- The GPUs of the catalogue, in its order; `print(blis.hardware())` shows a table. With a name:
--- the GPU of that name or alias.
---@param options? { catalogue?: string|string[] }|string
---@return table
function catalogue.hardware(options)
  local files, name = read_options(options, "hardware")
  local entries = latest(core.hardware(catalogue.with { files = files }), "name")
  return name and find_gpu(entries, name) or printed(entries, catalogue.hardware_columns)
end

return catalogue

--- From the options of a cluster to what the core takes: models and GPUs that are described in
--- files or tables, catalogues, and latency models in Lua.
local core = require "blis.core"
local batch_limits = require "blis.engine.batch_limits"
local billing = require "blis.engine.billing"
local carbon = require "blis.engine.carbon"
local catalogue = require "blis.catalogue"
local cluster_section = require "blis.config.cluster"
local defaults = require "blis.config.defaults"
local deferred = require "blis.deferred"
local descriptions = require "blis.catalogue.descriptions"
local errors = require "blis.errors"
local features = require "blis.feature"
local front_end = require "blis.engine.front_end"
local group_config = require "blis.config.group"
local pool_config = require "blis.config.pool"
local kernel_tables = require "blis.engine.kernel_tables"
local kv_layout = require "blis.engine.kv_layout"
local latency_section = require "blis.config.latency"
local notices = require "blis.notices"
local power = require "blis.engine.power"
local presets = require "blis.engine.presets"
local profiles = require "blis.engine.profiles"
local residuals = deferred "blis.engine.residuals"
local schema = require "blis.config.schema"
local types = require "blis.config.types"
local usual_latency = require "blis.engine.usual_latency"
local versions = require "blis.engine.versions"

local engine = {}

local limit_us = 1 << 53

--- A time as a whole number of microseconds.
local function whole_time(value, path)
  local is_time = type(value) == "number" and value >= 0 and value <= limit_us
  if not is_time then
    schema.raise_value(path, value, "microseconds from 0 to 2^53")
  end
  return math.tointeger(value) or math.floor(value)
end

local function scripted(given, path)
  local values = schema.read(latency_section, given, path)
  for _, name in ipairs { "output_token_time", "fixed_overhead" } do
    values[name] = whole_time(values[name], path .. "." .. name)
  end
  if type(values.queueing_time) ~= "function" then
    values.queueing_time = whole_time(values.queueing_time, path .. ".queueing_time")
  end
  if type(values.step_time) ~= "function" then
    schema.raise_value(path .. ".step_time", values.step_time, "a function(batch)")
  end
  return values
end

--- A latency model however it is written: its definition, or the name of a built-in one.
---@param given any
---@param path string
---@return table|string|nil
function engine.read_latency_model(given, path)
  local definition = core.latency_definition(given)
  if definition then return definition end
  if type(given) == "function" then
    return scripted({ name = "function", step_time = given }, path)
  end
  if type(given) == "table" then return scripted(given, path) end
  return type(given) == "string" and given or nil
end

types.latency_model = {
  expected = function(option)
    return "one of " .. table.concat(option.choices, ", ")
      .. ", what blis.latency_model returned, or a function(batch)"
  end,
  check = function(value, option, path)
    local read = engine.read_latency_model(value, path)
    return type(read) == "table" and read or types.choice.check(read, option)
  end,
}

local function is_same(a, b)
  if type(a) ~= "table" or type(b) ~= "table" or #a ~= #b then return a == b end
  for i, item in ipairs(a) do
    if item ~= b[i] then return false end
  end
  return true
end

--- Adds the options of a built-in model that was created earlier to the options of the cluster.
local function merged(given, definition, path)
  local all = {}
  for key, value in pairs(given) do all[key] = value end
  for _, option in ipairs(cluster_section.options) do
    local name = option.name
    local value = definition.given[name]
    if name == "latency_model" then
      all[name] = value
    elseif value ~= nil and all[name] == nil then
      all[name] = value
    elseif value ~= nil and not is_same(all[name], value) then
      errors.invalid("%s.%s: %s: the latency model was created for %s", path, name,
        errors.invalid_value(all[name]), errors.show(value))
    end
  end
  return all
end

local function read_model(values, given, sources)
  local model = values.model
  if type(model) == "table" then
    sources.texts[#sources.texts + 1] = catalogue.text_of("models", model, "cluster.model")
    values.model = model.id
    if type(model.id) ~= "string" then
      schema.raise_value("cluster.model.id", model.id, "the name of the model")
    end
    return
  end
  local path = descriptions.config_path(model)
  if path and values.model_config then
    errors.invalid("cluster.model: %s and cluster.model_config: %s both describe the model; set "
      .. "only one of them",
      errors.show(model), errors.show(values.model_config))
  end
  if path or values.model_config and given.model == nil then
    values.model_config = path or values.model_config
    values.model = descriptions.name_of(values.model_config)
    return
  end
  local file = not values.model_config and descriptions.beside("models", model)
  if not file then return end
  if file:match("%.yaml$") then
    sources.beside[#sources.beside + 1] = file
  else
    values.model_config = file
  end
end

--- Adds the file in the script's folder that describes a GPU; true if it exists.
local function add_hardware_file(name, sources)
  local file = not name:find("/", 1, true) and descriptions.beside("hardware", name)
  if not file or not file:match("%.yaml$") then return false end
  table.insert(sources.beside, file)
  return true
end

local function read_hardware(values, sources)
  local hardware = values.hardware
  if type(hardware) == "table" then
    sources.texts[#sources.texts + 1] =
      catalogue.text_of("hardware", hardware, "cluster.hardware")
    if type(hardware.name) ~= "string" then
      schema.raise_value("cluster.hardware.name", hardware.name, "the name of the GPU")
    end
    values.hardware = hardware.name
  elseif hardware then
    add_hardware_file(hardware, sources)
  end
end

--- Raises an error if the step times of a cluster have an unknown error. The core refuses latency
--- models whose fitted range is exceeded or not known.
local function require_measured(values)
  local whole = { horizon_us = math.maxinteger }
  for key, value in pairs(values) do whole[key] = value end
  residuals.require_measured(rawget(core.engine_facts(whole), "regime"))
end

--- Reads the descriptions of the model and the GPU, and the catalogue that has both.
local function read_descriptions(values, given)
  local sources = { beside = {}, files = values.catalogue, texts = {} }
  read_model(values, given, sources)
  read_hardware(values, sources)
  values.catalogue = catalogue.with(sources)
  local usual = not values.hardware
    and catalogue.usual_hardware(values.model, values.catalogue)
  if usual and add_hardware_file(usual, sources) then
    values.catalogue = catalogue.with(sources)
  end
end

--- Returns options as given, with the defaults behind them: those of the backend version, then of
--- the preset, then of the version of the defaults.
local function with_defaults(given, path, profile)
  if type(given) ~= "table" then return given end
  defaults.check(given.defaults, path .. ".defaults", profile)
  local filled = presets.fill(versions.fill(given, path))
  if given.defaults == nil then return filled end
  return defaults.fill("cluster", filled, defaults.of(given.defaults))
end

--- The options of a cluster of equal instances.
local function read_equal(given, path, profile)
  local definition = type(given) == "table" and core.latency_definition(given.latency_model)
  if definition and definition.given then given = merged(given, definition, path) end
  local values = schema.read(cluster_section, with_defaults(given, path, profile), path, profile)
  local names_latency = profile == "go-blis"
    or type(given) == "table" and given.latency_model ~= nil
  if type(values.latency_model) == "table" then
    values.latency_definition = values.latency_model
    values.latency_model = "scripted"
  end
  if profile ~= "go-blis" then values.defaults = values.defaults or defaults.newest.name end
  read_descriptions(values, given or {})
  usual_latency.apply(values, names_latency)
  versions.apply(values)
  if values.defaults then batch_limits.apply(values, defaults.of(values.defaults).batch_limits) end
  profiles.apply(profile, values)
  presets.apply(values, path, profile)
  kernel_tables.apply(values, path)
  front_end.apply(values, path)
  features.read_cluster(values, path, profile)
  if values.kv_layout ~= nil then
    values.kv_layout = kv_layout.read(values.kv_layout, path .. ".kv_layout", values)
  end
  power.apply(values, path)
  values.carbon_steps = carbon.steps(values.carbon_g_per_kwh, path .. ".carbon_g_per_kwh")
  values.request_carbon = carbon.of_requests(values)
  if values.strict_coverage and not values.latency_definition then require_measured(values) end
  return values
end

--- Returns what a result must state about defaults that do not hold.
---@param cluster table what engine.read returned
---@return string[]
function engine.notes(cluster)
  local notes, seen = {}, {}
  for _, group in ipairs(cluster.groups or { cluster }) do
    local note = group.latency_note
    if note and not seen[note] then
      seen[note] = true
      notes[#notes + 1] = note
    end
  end
  return notes
end

--- The options of a cluster, with those of a group in place of its own.
local function overlay(given, group)
  local all = {}
  for key, value in pairs(given) do all[key] = value end
  for i, option in ipairs(group_config.section.options) do
    for _, name in ipairs { option.name, table.unpack(option.aliases or {}) } do
      if group[name] ~= nil then
        for _, alias in ipairs(option.aliases or {}) do all[alias] = nil end
        if i > group_config.own then all[option.name] = group[name] end
      end
    end
  end
  all.groups, all.instances = nil, nil
  if group.model ~= nil and group.model_config == nil then all.model_config = nil end
  return all
end

-- For pools of profile go-blis: the GPU that determines their KV cache.
local kv_hardware = setmetatable({}, { __mode = "k" })
-- Latency models whose overheads groups have in place of their own.
local overheads_of = setmetatable({}, { __mode = "k" })

--- KV blocks of a group as if it had other GPUs; nil when they are not known.
local function blocks_on(values, hardware)
  local other = {}
  for key, value in pairs(values) do other[key] = value end
  other.hardware = hardware
  local ok, capacity = pcall(core.kv_capacity, other)
  return ok and capacity.blocks or nil
end

local function read_group(given, group, path, profile)
  local own = schema.read(group_config.section, group, path, profile)
  local values = read_equal(overlay(given, group), "cluster", profile)
  values.overheads_of = overheads_of[group]
  if kv_hardware[group] then values.kv_blocks = blocks_on(values, kv_hardware[group]) end
  if values.latency_definition and group.latency_model ~= nil then
    errors.invalid("%s.latency_model: a latency model in Lua applies to the whole cluster", path)
  end
  for i = 1, group_config.own do
    local name = group_config.section.options[i].name
    values[name] = own[name]
  end
  features.resize(values, path, group_config.instances_max)
  values.horizon_us = math.maxinteger -- that of the cluster holds
  return values
end

local function models_differ(groups)
  for i = 2, #groups do
    if groups[i].model ~= groups[1].model then return true end
  end
  return false
end

--- Where models differ, instances serve requests for theirs only. In BLIS (Go) they always do.
local function set_models(groups, profile)
  if profile == "go-blis" or models_differ(groups) then
    for _, group in ipairs(groups) do group.serves = group.model end
  end
end

--- Checks the options of every group of a list, but not what they make of a cluster.
---@param list any
---@param path string
function engine.check_groups(list, path)
  if type(list) ~= "table" or #list == 0 then
    schema.raise_value(path, list, "a list of groups of instances")
  end
  for i, group in ipairs(list) do
    schema.read(group_config.section, group, ("%s[%d]"):format(path, i))
  end
end

-- Roles as the core has them: bits for prefill, decode and encode.
local role_bits = { prefill = 1, decode = 2, both = 3, encode = 4, none = 0 }

local function has_roles(groups)
  for _, group in ipairs(groups) do
    if group.role then return true end
  end
  return false
end

local function have_role(groups, role)
  for _, group in ipairs(groups) do
    if group.role == role then return true end
  end
  return false
end

local does = { prefill = { prefill = true, both = true }, decode = { decode = true, both = true } }

--- Models cannot use each other's KV: a model with prefill instances requires decode instances.
local function check_models_of_pools(groups, path)
  local function models(stage)
    local found = {}
    for _, group in ipairs(groups) do
      if does[stage][group.role] then found[group.model:lower()] = true end
    end
    return found
  end
  local of = { prefill = models "prefill", decode = models "decode" }
  for i, group in ipairs(groups) do
    for stage, other in pairs { prefill = "decode", decode = "prefill" } do
      if does[stage][group.role] and next(of[other]) and not of[other][group.model:lower()] then
        errors.invalid("%s.groups[%d]: role \"%s\", but no group for %s serves its model, %s; KV "
          .. "cannot be transferred to another model", path, i, group.role, other, group.model)
      end
    end
  end
end

local function read_groups(given, path, profile)
  local list = given.groups
  engine.check_groups(list, path .. ".groups")
  if given.instances ~= nil then
    errors.invalid("%s: instances cannot be combined with groups, which set the number of "
      .. "instances", path)
  end
  local groups, count = {}, 0
  for i, group in ipairs(list) do
    groups[i] = read_group(given, group, ("%s.groups[%d]"):format(path, i), profile)
    count = count + groups[i].instances
  end
  local most = group_config.instances_max
  if count > most then
    errors.invalid("%s.groups: %d instances in total, expected at most %d", path, count, most)
  end
  set_models(groups, profile)
  power.check_caps(groups, path)
  if has_roles(groups) then
    if models_differ(groups) then check_models_of_pools(groups, path) end
    for _, group in ipairs(groups) do group.roles = role_bits[group.role or "none"] end
  end
  local whole = read_equal(overlay(given, list[1]), path, profile)
  whole.groups, whole.instances = groups, count
  whole.overheads_of = overheads_of[list[1]]
  whole.has_pools, whole.has_encoders = has_roles(groups), have_role(groups, "encode")
  return whole
end

local pool_sizes = { "prefill_instances", "decode_instances", "prefill_decode_instances",
  "encode_instances" }

--- What the options of a pool, such as decode_tp, say of its instances.
local function pool(given, role, count)
  local prefix = role == "prefill" and "prefill_" or "decode_"
  local group = { role = role, instances = count }
  if role == "encode" then return group end
  for _, name in ipairs(pool_config.options) do
    group[name] = given[prefix .. name]
  end
  return group
end

--- In BLIS (Go), the GPU of a pool determines its KV cache and its label, but not its step times. A
--- pool with a separate GPU or degree has the KV cache of that GPU and degree. A pool with roofline
--- has the overheads of the cluster's latency model.
local function as_in_go_blis(groups, given)
  for _, group in ipairs(groups) do
    if group.latency_model == "roofline" and given.latency_model == "trained-physics" then
      group.alpha_coeffs = given.alpha_coeffs
      overheads_of[group] = given.latency_model
    end
    local is_other = group.hardware ~= nil and group.hardware ~= given.hardware
      or group.tp ~= nil and group.tp ~= given.tp
    kv_hardware[group] = is_other and (group.hardware or given.hardware) or nil
    group.hardware = nil
    if not is_other then group.kv_blocks = given.kv_blocks or given.total_kv_blocks end
  end
end

local function check_pools(sizes, total, path)
  local p, d, both, e = sizes.prefill_instances, sizes.decode_instances,
    sizes.prefill_decode_instances, sizes.encode_instances
  if p + d + both == 0 and e > 0 then
    errors.invalid("%s: encode_instances is %d, but no instance prefills or decodes; set "
      .. "prefill_decode_instances, or prefill_instances and decode_instances", path, e)
  end
  if both == 0 and (p == 0 or d == 0) then
    errors.invalid("%s: prefill_instances is %d and decode_instances %d; without "
      .. "prefill_decode_instances, both are required", path, p, d)
  end
  if total and p + d + both + e > total then
    errors.invalid("%s: instances is %d, but the pools have %d (prefill_instances + "
      .. "decode_instances + prefill_decode_instances + encode_instances)", path, total,
      p + d + both + e)
  end
end

--- Whether the number of instances is not set.
local function is_left_open(sizes, total)
  for _, name in ipairs(pool_sizes) do
    if sizes[name] > 0 then return false end
  end
  return total == nil
end

--- What would be ignored; BLIS (Go) ignores it.
local function check_no_pools(given, path, profile)
  local name = pool_config.given(given)[1]
  if not name or profile == "go-blis" then return end
  errors.invalid("%s.%s: has no effect %s", path, name, given.groups ~= nil
    and "with groups; set it in each group"
    or "without pools; set prefill_instances and decode_instances as well")
end

--- Pools by numbers of instances are groups with roles.
local function groups_of_pools(given, path, profile)
  local values = schema.read(cluster_section, given, path, profile)
  local sizes, has_pools = {}, values.architecture == "pd"
  for _, name in ipairs(pool_sizes) do
    sizes[name] = values[name] or 0
    has_pools = has_pools or sizes[name] > 0
  end
  if not has_pools then return check_no_pools(values, path, profile) end
  if values.architecture == "monolithic" or given.groups ~= nil then
    errors.invalid("%s: pools of prefill and decode cannot be combined with %s", path,
      given.groups ~= nil and "groups, which have roles" or "architecture monolithic")
  end
  if is_left_open(sizes, given.instances) then
    sizes.prefill_instances, sizes.decode_instances = 1, 1
  end
  check_pools(sizes, given.instances, path)
  local groups = {}
  local function add(role, count, group)
    if count > 0 then groups[#groups + 1] = group or pool(values, role, count) end
  end
  add("prefill", sizes.prefill_instances)
  add("decode", sizes.decode_instances)
  add("both", sizes.prefill_decode_instances)
  add("encode", sizes.encode_instances)
  local rest = given.instances or 0
  for _, name in ipairs(pool_sizes) do rest = rest - sizes[name] end
  add("none", rest, { role = "none", instances = rest })
  if rest > 0 and profile ~= "go-blis" then
    notices.tell(("%s: %d of %d instances are in no pool: they serve no requests, but are "
      .. "billed"):format(
      path, rest, given.instances))
  end
  local all = {}
  for key, value in pairs(given) do all[key] = value end
  all.groups, all.instances = groups, nil
  if profile == "go-blis" then
    as_in_go_blis(groups, values)
    all.kv_blocks, all.total_kv_blocks = nil, nil
  end
  return all
end

local function read_cluster(given, path, profile)
  given = type(given) == "table" and groups_of_pools(given, path, profile) or given
  if type(given) == "table" and given.groups ~= nil then
    return read_groups(given, path, profile)
  end
  local values = read_equal(given, path, profile)
  features.resize(values, path, group_config.instances_max)
  power.check_caps({ values }, path)
  set_models({ values }, profile)
  return values
end

--- The options of a cluster as the core takes them.
---@param given? table
---@param path string
---@param profile? string
---@return table
function engine.read(given, path, profile)
  local values = read_cluster(given, path, profile)
  values.billing = billing.of(values)
  return values
end

return engine

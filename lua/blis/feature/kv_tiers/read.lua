--- From what an experiment says of KV below the caches to what the core takes.
local core = require "blis.core"
local errors = require "blis.errors"
local presets = require "blis.feature.kv_tiers.presets"
local schema = require "blis.config.schema"
local sections = require "blis.feature.kv_tiers.options"

local kv_tiers = {}

local policies = { lru = true, fifo = true, lfu = true, arc = true }
local most_tiers = 8

--- A bandwidth of 0 takes no time.
local function bytes_per_us(gb_s)
  return gb_s == 0 and math.huge or gb_s * 1000
end

local function copy(given)
  local made = {}
  for key, value in pairs(given) do made[key] = value end
  return made
end

--- The list of tiers apart from the named options; a name alone is that of a preset.
local function split(given, path)
  if type(given) == "string" then return { preset = given }, {} end
  if type(given) ~= "table" then
    schema.raise_value(path, given, "a list of tiers, the name of a preset, or a table of options")
  end
  local named, list = {}, {}
  for key, value in pairs(given) do
    if math.type(key) == "integer" then list[key] = value else named[key] = value end
  end
  schema.check_list(list, path, "a list of tiers")
  for i = 1, #list do
    if type(list[i]) ~= "table" then
      schema.raise_value(("%s[%d]"):format(path, i), list[i], "a table of options of a tier")
    end
  end
  return named, list
end

--- Tiers and options of the preset, with those given laid over them; tiers go by name.
local function fill(named, list, path)
  local preset = named.preset and presets.by_name[named.preset]
  if not preset then return named, list, {} end
  local options, tiers, place = {}, {}, {}
  for key, value in pairs(preset) do
    if type(key) == "string" then options[key] = value end
  end
  for i, tier in ipairs(preset) do tiers[i], place[tier.name] = copy(tier), i end
  for key, value in pairs(named) do options[key] = value end
  for i, tier in ipairs(list) do
    local name = type(tier.name) == "string" and tier.name
    if not name then
      errors.invalid("%s[%d]: name is missing; with a preset, a tier overrides the tier of the "
        .. "same name, or is added after the tiers of the preset", path, i)
    end
    local at = place[name] or #tiers + 1
    local made = tiers[at] or {}
    if tier.blocks ~= nil then made.gb = nil end
    for key, value in pairs(tier) do made[key] = value end
    tiers[at], place[name] = made, at
  end
  return options, tiers
end

local function read_policy(values, path)
  local policy = values.policy
  if type(policy) == "function" then
    values.policy, values.score = "scored", policy
  elseif policy == "reuse-hint" then
    values.policy, values.keeps_hinted = "scored", true
  elseif not policies[policy] then
    schema.raise_value(path .. ".policy", policy,
      "lru, fifo, lfu, arc, reuse-hint or a function(block)")
  end
end

--- Options that would do nothing.
local function check_companions(given, values, path)
  if values.scope == "node" and values.instances_per_node == nil then
    errors.invalid("%s: scope = \"node\" requires instances_per_node", path)
  end
  if given.instances_per_node ~= nil and values.scope ~= "node" then
    errors.invalid("%s.instances_per_node: has no effect without scope = \"node\"", path)
  end
  for _, name in ipairs { "shared", "survives" } do
    if values[name] and values.scope ~= "instance" then
      errors.invalid("%s.%s: requires scope instance; instances share a tier of scope "
        .. "%s", path, name,
        values.scope)
    end
  end
  if given.max_tracked ~= nil and values.threshold < 2 then
    errors.invalid("%s.max_tracked: has no effect without a threshold of 2 or more", path)
  end
  if given.peer_weight ~= nil and not values.shared then
    errors.invalid("%s.peer_weight: has no effect without shared = true", path)
  end
  if given.evict_share ~= nil and values.evict_above == nil then
    errors.invalid("%s.evict_share: has no effect without evict_above", path)
  end
  if given.keep_us ~= nil and values.policy ~= "reuse-hint" then
    errors.invalid("%s.keep_us: has no effect without policy = \"reuse-hint\"", path)
  end
  if given.write_gb_s ~= nil and values.half_duplex then
    errors.invalid("%s.write_gb_s: has no effect with half_duplex, where reads and writes share "
      .. "read_gb_s", path)
  end
end

local function read_size(given, values, path, preset)
  if (given.blocks == nil) == (given.gb == nil) then
    errors.invalid(given.blocks == nil and preset
      and "%s: preset %s does not set the size of tier '%s'; set { name = \"%s\", gb = ... } "
        .. "(--kv-tier %s:gb=...)"
      or "%s: expected a size, either blocks or gb",
      path, preset, values.name, values.name, values.name)
  end
  values.blocks = values.blocks or 0
  values.bytes = (values.gb or 0) * 1e9
end

local function read_stage(values, place, path)
  if not values.stage then
    values.stage_index = -1
    return
  end
  local at = place[values.stage]
  if not at then
    errors.invalid("%s.stage: '%s' is not an earlier tier", path, values.stage)
  end
  values.stage_index = at - 1
end

local function read_tier(given, path, place, preset)
  local values = schema.read(sections.tier, given, path, "design")
  if values.name:find "%c" then
    schema.raise_value(path .. ".name", values.name, "a name without control characters")
  end
  if place[values.name] then
    errors.invalid("%s.name: '%s' is the name of an earlier tier", path, values.name)
  end
  check_companions(given, values, path)
  read_size(given, values, path, preset)
  read_policy(values, path)
  read_stage(values, place, path)
  values.read_bytes_per_us = bytes_per_us(values.read_gb_s)
  values.write_bytes_per_us = bytes_per_us(values.write_gb_s or values.read_gb_s)
  return values
end

local function read_load(values, path)
  local load = values.load
  if type(load) == "function" then
    values.load, values.load_choice = "as-told", load
  elseif load ~= "all" and load ~= "if-faster" then
    schema.raise_value(path .. ".load", load, "all, if-faster or a function(request, offer)")
  end
end

--- KV connectors load and save every token of a sequence. So windows keep all tokens, as in vLLM
--- without the hybrid KV cache, and states, which no prefix finds again, cannot be in tiers. A
--- stated kv_layout decides for itself.
---@return boolean whether windows keep all tokens
local function keep_all_tokens(cluster, path)
  local has_windows = false
  for _, group in ipairs(cluster.groups or { cluster }) do
    local ok, facts = pcall(core.model_facts, group)
    if ok and facts and group.kv_layout == nil then
      if facts.state_bytes_per_sequence > 0 then
        errors.invalid("%s: %s has layers with states (%s), which no cached prefix contains; "
          .. "expected a model without states, or a kv_layout that keeps them", path, facts.model,
          facts.layers_text)
      end
      has_windows = has_windows or facts.window_bytes_per_sequence > 0
      group.hybrid_kv_cache = false
    end
  end
  return has_windows
end

--- What the core takes; nil without tiers.
---@param given any
---@param profile string
---@param cluster table the values of its options
---@return table?
function kv_tiers.read(given, profile, cluster)
  local path = "kv_tiers"
  if given == nil then return nil end
  if profile == "go-blis" then
    errors.invalid("%s: requires profile design; BLIS (Go) has the CPU tier of kv_cpu_blocks",
      path)
  end
  if (cluster.kv_cpu_blocks or 0) > 0 then
    errors.invalid("%s: cannot be combined with kv_cpu_blocks, the CPU tier of BLIS (Go)", path)
  end
  local named, list = split(given, path)
  schema.read(sections.all, named, path, profile) -- as given, for its messages
  local options, tiers = fill(named, list, path)
  local values = schema.read(sections.all, options, path, profile)
  if #tiers == 0 or #tiers > most_tiers then
    errors.invalid("%s: got %d tiers, expected 1 to %d", path, #tiers, most_tiers)
  end
  local place = {}
  for i, tier in ipairs(tiers) do
    local where = ("%s[%d]"):format(path, i)
    values[i] = read_tier(tier, where, place, values.preset)
    place[values[i].name] = i
  end
  read_load(values, path)
  values.keeps_windows = keep_all_tokens(cluster, path)
  values.network_bytes_per_us = bytes_per_us(values.network_gb_s)
  return values
end

--- True when a function of a script is asked.
---@param values table what read returned
---@return boolean
function kv_tiers.is_scripted(values)
  if values.load_choice then return true end
  for _, tier in ipairs(values) do
    if tier.score then return true end
  end
  return false
end

return kv_tiers

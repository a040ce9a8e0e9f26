--- Converts the disaggregation options of an experiment to the input of the core.
local core = require "blis.core"
local errors = require "blis.errors"
local hooks = require "blis.policy.hooks"
local notices = require "blis.notices"
local policy = require "blis.policy"
local schema = require "blis.config.schema"
local section = require "blis.feature.disaggregation.options"

local disaggregation = {}

local function read_decider(values, path)
  local given = values.decider
  if values.prefix_threshold then
    if given ~= "prefix-threshold" then
      errors.invalid("%s: prefix_threshold is a parameter of the decider prefix-threshold", path)
    end
    given = { given, threshold = values.prefix_threshold }
  end
  return hooks.read("disaggregation", given, path .. ".decider")
end

--- A bandwidth of 0 means a transfer time of 0, or no limit.
local function bytes_per_us(gb_s)
  return gb_s == 0 and math.huge or gb_s * 1000
end

--- The router of a stage, prefill or encode, and the source of its ties. It is the experiment's
--- router: the core creates a new built-in router for each stage, and a scripted router is created
--- once. In BLIS (Go), all stages share the router of the decode stage.
local function read_stage_routing(values, stage, experiment, routing, path)
  local name, ties = stage .. "_routing", stage .. "-router"
  if values[name] ~= nil then return policy.read_router(values[name], path .. "." .. name), ties end
  if values.decode_routing ~= nil then return routing end
  if experiment.profile == "go-blis" then return nil end
  return routing, ties
end

--- Only the user can supply the cost of encoding; in BLIS (Go) it is 0.
local function read_encode(values, given, experiment, cluster, routing, path)
  if not cluster.has_encoders then
    for _, name in ipairs { "encode_decider", "encode_base_us", "encode_us_per_token",
      "encode_routing" } do
      if values[name] ~= nil and values[name] ~= "never" then
        errors.invalid("%s.%s: the cluster has no encode instances; set encode_instances, or add a "
          .. "group with role = \"encode\"", path, name)
      end
    end
    values.encode_decider = "never"
    return
  end
  values.encode_decider = values.encode_decider or "multimodal"
  if values.encode_decider == "never" then
    for _, name in ipairs { "encode_base_us", "encode_us_per_token", "encode_routing" } do
      if given[name] ~= nil then
        notices.tell(("%s: %s has no effect, encode_decider = \"never\" encodes nothing"):format(
          path, name))
      end
    end
    return
  end
  for _, name in ipairs { "encode_base_us", "encode_us_per_token" } do
    if experiment.profile == "go-blis" then values[name] = 0.0 end
    if values[name] == nil then
      errors.invalid("%s: encode instances require %s; it has no default, because it depends on "
        .. "the encoder", path, name)
    end
  end
  values.encode_routing, values.encode_ties = read_stage_routing(values, "encode", experiment,
    routing, path)
  -- In BLIS (Go) there is one main policy, with one memory, for stages without one of their own.
  if experiment.profile == "go-blis" and given.decode_routing ~= nil
    and given.prefill_routing == nil and given.encode_routing == nil then
    values.encode_routing, values.encode_as_prefill = nil, true
  end
end

--- The part of a step's KV that is sent at once; 0 = no KV is sent before the prefill ends.
local function overlap_portion(values, path)
  if values.overlap == "none" then return 0.0 end
  if values.order ~= "destination" then
    errors.invalid("%s.overlap: '%s' requires order = \"destination\", which reserves blocks "
      .. "before the prefill", path, values.overlap)
  end
  return values.overlap == "chunks" and 1.0 or 1 / values.layer_groups
end

-- Options that BLIS (Go) has; the remaining options have its fixed values.
local of_go_blis = { decider = true, prefix_threshold = true, prefill_routing = true,
  decode_routing = true, encode_decider = true, encode_routing = true, bandwidth_gb_s = true,
  base_latency_ms = true, contention = true }

-- What encoding costs in BLIS (Go).
local free = { encode_base_us = 0, encode_us_per_token = 0 }

--- What would be ignored in profile go-blis, unless it says what that does anyway.
local function check_go_blis(given, values, cluster, path)
  for _, option in ipairs(section.options) do
    local name = option.name
    local own = option.profiles and option.profiles["go-blis"]
    if own == nil then own = free[name] or option.default end
    if given[name] ~= nil and not of_go_blis[name] and values[name] ~= own then
      errors.invalid("%s.%s: has no effect in profile go-blis, which does not model it; leave it "
        .. "out, or use profile design", path, name)
    end
  end
  for _, group in ipairs(cluster.groups) do
    if group.nic_gb_s then
      errors.invalid("cluster: nic_gb_s has no effect in profile go-blis, where all transfers have "
        .. "the bandwidth of disaggregation.bandwidth_gb_s; leave it out, or use profile design")
    end
  end
end

-- Options that require a certain value of another option: { name, other, its value }.
local companions = {
  { "layer_groups", "overlap", "layers" },
  { "retries", "on_failure", "retry" },
  { "retry_pause_us", "on_failure", "retry" },
}

--- Raises for options that would have no effect with the other options.
local function check_companions(given, values, path)
  for _, one in ipairs(companions) do
    local name, other, value = table.unpack(one)
    if given[name] ~= nil and values[other] ~= value then
      errors.invalid("%s.%s: has no effect without %s = \"%s\"", path, name, other, value)
    end
  end
  if given.overlap_min_tokens ~= nil and values.overlap == "none" then
    errors.invalid("%s.overlap_min_tokens: has no effect without overlap = \"chunks\" or "
      .. "\"layers\"", path)
  end
end

--- What the core takes; nil for a cluster without pools.
---@param experiment table the values of its options
---@param cluster table as engine.read has it
---@param routing table the definition of the router of the experiment
---@return table?
function disaggregation.read(experiment, cluster, routing)
  local given, path = experiment.disaggregation, "disaggregation"
  if not cluster.has_pools then
    if given ~= nil then
      errors.invalid("%s: the cluster has no pools; set prefill_instances and decode_instances, or "
        .. "groups with a role", path)
    end
    return nil
  end
  local is_decider = type(given) ~= "table" and given ~= nil or core.policy_definition(given)
    or type(given) == "table" and given[1] ~= nil
  if is_decider then given = { decider = given } end
  local values = schema.read(section, given or {}, path, experiment.profile)
  if experiment.profile == "go-blis" then check_go_blis(given or {}, values, cluster, path) end
  check_companions(given or {}, values, path)
  if given and given.contention ~= nil and experiment.profile ~= "go-blis" then
    errors.invalid("%s.contention: has no effect in profile design, where transfers always share "
      .. "links; leave it out", path)
  end
  if values.stage_order == "prefill-first" and values.decider ~= "always" then
    errors.invalid("%s: with stage_order = \"prefill-first\" every request is split; remove the "
      .. "decider, or set it to \"always\"", path)
  end
  values.decider = read_decider(values, path)
  values.prefill_routing, values.prefill_ties = read_stage_routing(values, "prefill", experiment,
    routing, path)
  read_encode(values, given or {}, experiment, cluster, routing, path)
  if values.decode_routing ~= nil then
    values.decode_routing = policy.read_router(values.decode_routing, path .. ".decode_routing")
  end
  values.bytes_per_us = bytes_per_us(values.bandwidth_gb_s)
  values.fabric_bytes_per_us = bytes_per_us(values.fabric_gb_s)
  values.base_us = values.base_latency_ms * 1000
  values.overlap_portion = overlap_portion(values, path)
  values.go_blis = experiment.profile == "go-blis"
  return values
end

--- True when a function of a script may look at anything.
---@param values table what read returned
---@return boolean
function disaggregation.is_scripted(values)
  for _, one in pairs { values.decider, values.prefill_routing, values.encode_routing } do
    if one.make or one.route or one.decide then return true end
  end
  return false
end

return disaggregation

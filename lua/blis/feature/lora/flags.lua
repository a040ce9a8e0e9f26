--- The flags of LoRA adapters, laid over a configuration file of BLIS (Go).
local errors = require "blis.errors"
local usual_scorers = require "blis.policy.usual_scorers"
local yaml_file = require "blis.yaml_file"

local lora_flags = {}

-- What the file calls an option.
local option_names = { adapter_capacity = "slots" }

local known = { "adapter_capacity", "load_base_latency_us", "load_bandwidth_bytes_us",
  "footprint_bytes_per_rank", "step_overhead_tiers", "adapters" }

local function is_known(key)
  for _, name in ipairs(known) do
    if name == key then return true end
  end
  return false
end

--- { [8] = { k6 = 0.02, k7 = 1 } } as a list, by rank.
local function tiers_of(given)
  if type(given) ~= "table" then
    errors.invalid("config.lora.step_overhead_tiers: %s: expected ranks with k6 "
      .. "and k7", errors.invalid_value(given))
  end
  local tiers = {}
  for key, tier in pairs(given) do
    local rank = math.tointeger(tonumber(key))
    local k6, k7 = type(tier) == "table" and tier.k6, type(tier) == "table" and tier.k7
    if not rank or type(k6) ~= "number" or type(k7) ~= "number" or k7 <= 0 then
      errors.invalid("config.lora.step_overhead_tiers.%s: expected a rank with numbers k6 and k7 "
        .. "above 0", tostring(key))
    end
    for name in pairs(tier) do
      if name ~= "k6" and name ~= "k7" then
        errors.invalid("config.lora.step_overhead_tiers.%s: unknown option '%s', expected k6 and "
          .. "k7", tostring(key), tostring(name))
      end
    end
    tiers[#tiers + 1] = { rank = rank, factor = k6 / k7 }
  end
  table.sort(tiers, function(a, b) return a.rank < b.rank end)
  return tiers
end

--- The options in a file { lora = { adapter_capacity =, adapters = ... } }.
local function read_file(root)
  local given = type(root) == "table" and root.lora
  if type(given) ~= "table" then
    errors.invalid("config.lora: missing value; expected options")
  end
  for key in pairs(root) do
    if key ~= "lora" then
      errors.invalid("config: unknown option '%s', expected lora", tostring(key))
    end
  end
  local options = {}
  for key, value in pairs(given) do
    if not is_known(key) then
      errors.invalid("config.lora: unknown option '%s'%s", tostring(key),
        errors.suggestion(tostring(key), known))
    end
    options[option_names[key] or key] = value
  end
  if options.step_overhead_tiers ~= nil then
    options.step_overhead_tiers = tiers_of(options.step_overhead_tiers)
  end
  return options
end

--- The scorers of a flag or of a bundle, and this one.
local function with_affinity(scorers, weight, cli)
  local names = {}
  if type(scorers) == "string" then
    for name in scorers:gmatch "([^,:%s]+)[^,]*" do names[#names + 1] = name end
  else
    for i, one in ipairs(scorers) do names[i] = one[1] end
  end
  for _, name in ipairs(names) do
    if name == "lora-affinity" then
      cli.fail("--lora-scorer-weight: the scorer lora-affinity already has a weight")
    end
  end
  if type(scorers) == "string" then return ("%s,lora-affinity:%.17g"):format(scorers, weight) end
  local all = table.move(scorers, 1, #scorers, 1, {})
  all[#all + 1] = { "lora-affinity", weight }
  return all
end

--- Returns the scorers of a routing policy with the weight of --lora-scorer-weight.
---@param scorers any
---@param routing? string name of the policy
---@param cli blis.feature.Flags
---@return any
function lora_flags.scorers(scorers, routing, cli)
  if routing ~= "weighted" then
    cli.talk("--lora-scorer-weight: no effect with routing policy %s", routing or "round-robin")
    return scorers
  end
  local weight = cli.values.policies.lora_scorer_weight
  return with_affinity(scorers or usual_scorers.of "weighted", weight, cli)
end

--- Returns the option lora of a cluster, nil without adapters. Without slots, BLIS (Go) ignores
--- adapters.
---@param cli blis.feature.Flags
---@return table?
function lora_flags.read(cli)
  local path, all = cli.values.policies.lora_config, {}
  if path then
    local file = yaml_file.read(path)
    all = yaml_file.located(file, "config", read_file, file.root)
  end
  for key, value in pairs(cli.values.lora) do all[key] = value end
  if all.adapters == nil then
    if next(all) ~= nil then
      cli.talk("flags of LoRA adapters have no effect without --lora-config or --lora-adapters")
    end
    return nil
  end
  if cli.values.experiment.profile == "go-blis" and (all.slots or 0) == 0 then return nil end
  return all
end

return lora_flags

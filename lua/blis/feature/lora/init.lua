--- LoRA adapters of the engines.
local deferred = require "blis.deferred"
local format = require "blis.format"
local flags = deferred "blis.feature.lora.flags"
local read = deferred "blis.feature.lora.read"

---@type blis.Feature
local lora = {
  options = "blis.feature.lora.options",
  policy_flags = { "scorers", "blis.feature.lora.policy_flags" },
  asked_at = 1,
  summary = { slot = "work" },
  page = { title = "LoRA adapters" },
}

function lora.flags(spec, cli)
  local is_given = cli.values.policies.lora_config or next(cli.values.lora) ~= nil
  spec.cluster.lora = is_given and flags.read(cli) or nil
end

function lora.flag_scorers(scorers, routing, cli)
  if not cli.values.policies.lora_scorer_weight then return scorers end
  return flags.scorers(scorers, routing, cli)
end

function lora.read_cluster(given, path, profile, values)
  local made = read.read(given, path, profile)
  values.adapter_bytes = made and made.bytes
  return made
end

--- "8" or "8 to 32": the ranks of adapters.
local function ranks_text(adapters)
  local low, high = math.huge, 0
  for _, one in ipairs(adapters) do
    low, high = math.min(low, one.rank), math.max(high, one.rank)
  end
  return low == high and ("rank %d"):format(low) or ("ranks %d to %d"):format(low, high)
end

local function lora_text(group)
  local given = group.lora
  if not given then return nil end
  local host = given.host_slots > 0 and ("%s in host memory"):format(
    format.plural(given.host_slots, "slot")) or "all adapters in host memory"
  return ("%s of %s; %s on the GPUs of an instance, %s; %s"):format(
    format.plural(#given.adapters, "adapter"), ranks_text(given.adapters),
    format.plural(given.slots, "slot"), host,
    given.loads_in_steps and "steps wait for loads" or "steps continue during loads")
end

function lora.asked(config, add, of_groups)
  add("LoRA adapters", of_groups(config.cluster, lora_text))
end

return lora

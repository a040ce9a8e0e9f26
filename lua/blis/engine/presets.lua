--- Named presets of an engine: groups of options. Options that are set in addition take precedence.
local errors = require "blis.errors"

local presets = {}

-- RouteSim's design document: "Dynamic Batching", "Block-Based Allocation", "LRU Eviction". Its
-- max_batch_tokens bounds what all requests of a batch reserve, and nothing else bounds a batch.
local by_name = {
  routesim = {
    batching = "boundary", kv_reservation = "whole", kv_eviction = "two-pass",
    max_queue_depth = 256, max_reserved_tokens = 16384,
    max_num_seqs = 1000000, max_num_batched_tokens = 1000000000,
    kv_reserve = "flat", -- a sized reserve would need limits of the batch
  },
}

-- The options that ask for something other than what vLLM does.
local unusual = { batching = "boundary", kv_reservation = "whole", kv_eviction = "two-pass" }

local rule_of = {
  batching = "joins_at_boundaries", kv_reservation = "reserves_whole",
  kv_eviction = "keeps_shared_only",
}

--- Options as given, with those of their preset behind them.
---@param given any of a cluster or a group
---@return any
function presets.fill(given)
  local preset = type(given) == "table" and by_name[given.engine_preset]
  if not preset then return given end
  local filled = {}
  for name, value in pairs(preset) do filled[name] = value end
  for name, value in pairs(given) do filled[name] = value end
  return filled
end

local function check(values, path, profile)
  local name = values.engine_preset and "engine_preset"
  for _, option in ipairs { "batching", "kv_reservation", "kv_eviction" } do
    if values[option] == unusual[option] then name = name or option end
  end
  for _, option in ipairs { "max_queue_depth", "max_reserved_tokens" } do
    if (values[option] or 0) > 0 then name = name or option end
  end
  if name and profile == "go-blis" then
    errors.invalid("%s.%s requires profile design; BLIS (Go) has no such option", path, name)
  end
  if values.kv_eviction == "two-pass" and values.kv_cpu_blocks > 0 then
    errors.invalid("%s: kv_eviction = \"two-pass\" cannot be combined with a CPU tier "
      .. "(kv_cpu_blocks = %d)", path, values.kv_cpu_blocks)
  end
end

--- Sets the rules that these options ask for; profiles have set the others.
---@param values table options of a cluster, read and with the rules of their profile
---@param path string
---@param profile? string
function presets.apply(values, path, profile)
  check(values, path, profile)
  for option, rule in pairs(rule_of) do
    values.engine_rules[rule] = values[option] == unusual[option] or nil
  end
end

return presets

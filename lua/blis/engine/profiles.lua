--- Rules of a real engine that a profile enables in addition to option defaults. Profile go-blis
--- enables none, like BLIS (Go).
local errors = require "blis.errors"
local sorted = require "blis.sorted"

local profiles = {}

---@class blis.Profile
---@field engine_rules table<string, boolean> rules of src/instance/config/instance_config.h
---@field counts_as_built boolean see blis_model_spec (src/latency/model/model_spec.h)

---@type table<string, blis.Profile>
local by_name = {
  design = {
    engine_rules = {
      leaves_at_step_end = true,
      resumes_preempted = true,
      counts_prompt_blocks = true,
      recomputes_last_token = true,
      drops_last_kv = true,
      knows_cached_context = true,
      pays_transfer_once = true,
      names_whole_blocks = true,
    },
    counts_as_built = true,
  },
  ["go-blis"] = { engine_rules = {}, counts_as_built = false },
}

--- Raises for a name of which there is no profile.
---@param name? any design
function profiles.check(name)
  if name == nil or by_name[name] then return end
  errors.invalid("unknown profile %s%s", errors.show(name),
    errors.suggestion(tostring(name), sorted.names(by_name)))
end

--- Adds the profile's rules to the options of a cluster.
---@param name? string of the profile; design
---@param values table
function profiles.apply(name, values)
  local profile = by_name[name or "design"]
  if name == "go-blis" and values.scheduler_reserve_full_isl then
    errors.invalid("cluster.scheduler_reserve_full_isl requires profile design; BLIS (Go) has no "
      .. "such option")
  end
  values.engine_rules = {
    schedules_ahead = values.async_scheduling,
    admits_whole_prompts = values.scheduler_reserve_full_isl,
    looks_ahead = values.async_scheduling and values.latency_model == "composed",
  }
  for rule, holds in pairs(profile.engine_rules) do values.engine_rules[rule] = holds end
  values.counts_as_built = profile.counts_as_built
  if name == "go-blis" then values.kv_offload_threshold = 0 end
end

return profiles

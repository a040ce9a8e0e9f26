--- The flags of prefill/decode disaggregation.
local pool_config = require "blis.config.pool"

local pool_flags = {}

local function has_pools(cluster)
  return cluster.architecture == "pd" or (cluster.prefill_instances or 0) > 0
    or (cluster.decode_instances or 0) > 0 or (cluster.prefill_decode_instances or 0) > 0
    or (cluster.encode_instances or 0) > 0
end

--- Flags of prefill/decode disaggregation. Without pools they have no effect, as in BLIS (Go).
local function option_of(cli)
  local given, of_policies = cli.values.disaggregation, cli.values.policies
  local cluster = cli.values.cluster
  if not has_pools(cluster) then
    if next(given) ~= nil or pool_config.given(cluster)[1] or of_policies.prefill_scorers
      or of_policies.decode_scorers then
      cli.talk("flags of prefill and decode have no effect without "
        .. "--prefill-instances and --decode-instances")
    end
    return nil
  end
  local all = {}
  for key, value in pairs(given) do all[key] = value end
  local decider = all.decider
  if all.prefix_threshold and decider ~= "prefix-threshold" then
    if cli.command == "replay" then
      cli.fail("--pd-prefix-threshold requires --pd-decider prefix-threshold")
    end
    cli.talk("--pd-prefix-threshold has no effect without --pd-decider prefix-threshold")
    all.prefix_threshold = nil
  end
  if all.contention ~= nil and cli.values.experiment.profile ~= "go-blis" then
    cli.talk("--pd-transfer-contention has no effect in profile design, where "
      .. "transfers always share links")
    all.contention = nil
  end
  if of_policies.prefill_scorers then
    all.prefill_routing = { "weighted", scorers = of_policies.prefill_scorers }
  end
  if of_policies.decode_scorers then
    all.decode_routing = { "weighted", scorers = of_policies.decode_scorers }
  end
  return all
end

--- Sets the option disaggregation of an experiment. Without pools, the cluster keeps no option of
--- pools; BLIS (Go) ignores these options itself.
---@param spec table
---@param cli blis.feature.Flags
function pool_flags.apply(spec, cli)
  spec.disaggregation = option_of(cli)
  local given = cli.values.cluster
  if has_pools(given) or cli.values.experiment.profile == "go-blis" then return end
  for _, name in ipairs(pool_config.given(given)) do spec.cluster[name] = nil end
end

return pool_flags

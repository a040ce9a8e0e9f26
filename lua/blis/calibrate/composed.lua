--- Constants of the composed step-time model as coefficients of a fit: the time of a step, the
--- scales of the layers, KV reads, and the front end. The kernels are those that were measured.
local catalogue = require "blis.catalogue"
local parameters = require "blis.calibrate.parameters"

local composed = {}

local unfitted = { dense_scales = { 1, 1.05 }, expert_scales = { 0.92, 1.6 } }

local function copied(entry)
  local copy = {}
  for key, value in pairs(entry) do copy[key] = value end
  return copy
end

---@class blis.ComposedFit
---@field prior blis.CoefficientSet
---@field list blis.FitParameter[] what is fitted
---@field constants fun(set: blis.CoefficientSet): table an entry of a catalogue file
---@field options fun(set: blis.CoefficientSet): table options of a cluster with these constants

--- What is fitted of an engine.
---@param kernel_fit blis.KernelFit
---@param cluster table options of the cluster, read
---@param regime table of the engine: format of the weights, and whether there are experts
---@return blis.ComposedFit
local function fit_of(kernel_fit, cluster, regime)
  local entry = kernel_fit.entry
  local scales = regime.has_experts and "expert_scales" or "dense_scales"
  local is_fp8 = cluster.kv_cache_dtype and cluster.kv_cache_dtype:match "^fp8"
  local kv = is_fp8 and "kv_fp8_share" or "kv_share"
  local pair = entry[scales][regime.weights] or unfitted[scales]
  local fit = { list = {} }
  fit.prior = { composed = {
    step_us = entry.step_us, decode = pair[1], prefill = pair[2], kv = entry[kv],
    front_us = cluster.front_end and cluster.front_end.request_us,
  } }
  for _, one in ipairs(parameters.composed) do
    if fit.prior.composed[one.index] then fit.list[#fit.list + 1] = one end
  end

  function fit.constants(set)
    local changed, values = copied(entry), set.composed
    changed.step_us, changed[kv] = values.step_us, values.kv
    changed[scales] = copied(entry[scales])
    changed[scales][regime.weights] = { values.decode, values.prefill }
    return changed
  end
  return fit
end

--- Runs a search with the constants of each trial in the catalogue.
---@param kernel_fit blis.KernelFit
---@param cluster table options of the cluster, read
---@param regime table
---@param search fun(fit: blis.ComposedFit): any
---@return any of the search
function composed.during(kernel_fit, cluster, regime, search)
  local fit = fit_of(kernel_fit, cluster, regime)
  local text <close> = catalogue.add_text(kernel_fit.folder)
  function fit.options(set)
    text.text = kernel_fit:text(fit.constants(set))
    return { frontend_rate = set.composed.front_us and 1e6 / set.composed.front_us }
  end
  return search(fit)
end

return composed

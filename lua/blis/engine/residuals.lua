--- Residuals of the composed step-time model by regime, from data/validation/residuals.yaml, and
--- the regime that a group of instances is in.
---
--- The coverage of a regime has four levels:
---
---   model    the fit contains runs of this model in this format on this GPU
---
---   format   this format was measured on this GPU family, on another GPU or with another model
---
---   family   it contains runs on this GPU family, in other formats
---
---   nothing  it contains no run on this GPU family, or the attention is of another kind
---
--- Each level has separate residuals, from runs that were held out of the fit in this way.
local core = require "blis.core"
local errors = require "blis.errors"

local residuals = {}

local path = "validation/residuals.yaml"

---@class blis.ResidualRow
---@field level string
---@field family? string nil = any
---@field weights? string nil = any
---@field has_experts? boolean nil = both
---@field is_async? boolean nil = both
---@field any_attention? boolean measured with latent attention, too
---@field rows integer 0 = reported by others
---@field prefill_share? number[] mean share of the two lists of tpot; nil = one list
---@field tpot number[] half of the rows are within the first, four fifths within the second; with
--- prefill_share, four numbers: for the smaller share, then for the larger one
---@field ttft? number[]
---@field tpot_range? table<string, number[]> smallest and largest value of the measured runs, by
--- the quantities of blis.results.measured_range
---@field ttft_range? table<string, number[]>
---@field versions? { version: integer, tpot: number[], ttft?: number[] }[] by version of vLLM
---@field many_gpus? number errors of TPOT at tp 4 and more, relative to those at less

local loaded

--- The data, read once.
---@return { families: table<string, string[]>, models: table[], regimes: blis.ResidualRow[],
--- between: table<string, table<string, number[]>> }
function residuals.data()
  if not loaded then
    loaded = core.yaml_parse(assert(core.embedded(path)), "data/" .. path).residuals
  end
  return loaded
end

local function family_of(gpu)
  for name, gpus in pairs(residuals.data().families) do
    for _, one in ipairs(gpus) do
      if one == gpu then return name end
    end
  end
  return nil
end

local function is_fitted(regime)
  for _, model in ipairs(residuals.data().models) do
    if model.gpu == regime.gpu and model.weights == regime.weights
      and model.has_experts == regime.has_experts and model.layers == regime.layers
      and model.hidden_size == regime.hidden_size then
      return true
    end
  end
  return false
end

local function fits(row, level, family, regime)
  return row.level == level and (row.family == nil or row.family == family)
    and (row.weights == nil or row.weights == regime.weights)
    and (row.has_experts == nil or row.has_experts == regime.has_experts)
    and (row.is_async == nil or row.is_async == regime.is_async)
end

--- True if the format was measured on the GPU family, with this kind of attention.
local function has_format(regime, family)
  for _, row in ipairs(residuals.data().regimes) do
    if (fits(row, "format", family, regime) or fits(row, "model", family, regime))
      and (regime.has_usual_attention or row.any_attention) then
      return true
    end
  end
  return false
end

local function has_family(family)
  for _, model in ipairs(residuals.data().models) do
    if family_of(model.gpu) == family then return true end
  end
  return false
end

--- The level of a regime, and its GPU family.
---@param regime table of setup.regime
---@return string level
---@return string? family
function residuals.level(regime)
  local family = family_of(regime.gpu)
  if not family then return "nothing" end
  if regime.has_usual_attention and is_fitted(regime) then return "model", family end
  if has_format(regime, family) then return "format", family end
  local is_near = regime.has_usual_attention and has_family(family)
  return is_near and "family" or "nothing", family
end

--- "H100, bf16, dense, asynchronous scheduling"
---@param regime table
---@return string
function residuals.name(regime)
  return ("%s, %s, %s, %s scheduling"):format(regime.gpu, regime.weights,
    regime.has_experts and "experts" or "dense", regime.is_async and "asynchronous"
      or "synchronous")
end

--- Raises an error for a regime of which nothing comparable was measured, with strict_coverage.
---@param regime? table nil = the latency model has no residuals
function residuals.require_measured(regime)
  local level = regime and residuals.level(regime)
  if level == "family" or level == "nothing" then
    errors.invalid("cluster.strict_coverage: the error of step times is assumed: no run of this "
      .. "regime was measured (%s); expected a regime of docs/validation.md",
      residuals.name(regime))
  end
end

---@class blis.Unmeasured
---@field text string what was not measured
---@field ttft_only? boolean TPOT does not depend on it

--- What was not measured of a group of instances: data of the user in place of those that the
--- residuals are of, and options that change step times in a way that no measured run had.
---@param group table of result.setup, with its regime
---@return blis.Unmeasured[]
function residuals.unmeasured(group)
  local regime, options, list = group.regime, rawget(group, "step_options") or {}, {}
  local function add(is_given, text, ttft_only)
    if is_given then list[#list + 1] = { text = text, ttft_only = ttft_only } end
  end
  add(regime.has_own_gpu, "a GPU with rates of the user")
  add(regime.has_own_constants, "constants of a catalogue file")
  add(type(options.kernel_tables) == "string", "kernel tables of a folder")
  add(options.kernel_tables == false, "step times without kernel tables")
  add(options.backend, "engines other than vLLM")
  add(options.engine_scale, "step times with engine_scale")
  add((rawget(group, "dp") or 1) > 1, "data parallelism inside an instance")
  add(options.gpu_power_cap_watts, "steps under a power cap")
  add(options.batching, "batches that change only at their end")
  add(options.kv_cpu_blocks, "blocks from CPU memory", true)
  return list
end

local levels = { "model", "format", "family", "nothing" }

--- The residuals of a regime: the first row that fits its level, otherwise one of the next level.
---@param regime table
---@return blis.ResidualRow
---@return string level
function residuals.of(regime)
  local level = residuals.level(regime)
  return residuals.of_level(regime, level), level
end

--- The rows that fit a regime: those of its level first, then those of the next levels.
---@param regime table
---@param level string
---@return blis.ResidualRow[]
function residuals.candidates(regime, level)
  local family, is_below, list = family_of(regime.gpu), false, {}
  for _, name in ipairs(levels) do
    is_below = is_below or name == level
    for _, row in ipairs(residuals.data().regimes) do
      if is_below and fits(row, name, family, regime) then list[#list + 1] = row end
    end
  end
  return list
end

--- The same with a given level: the first of these rows.
---@param regime table
---@param level string
---@return blis.ResidualRow
function residuals.of_level(regime, level)
  return residuals.candidates(regime, level)[1]
    or error("data/" .. path .. ": no row for any GPU")
end

local many_gpus = 4

--- The residuals of a version of vLLM; nil where it has too few rows, and for other regimes.
local function of_version(row, version)
  for _, one in ipairs(version and row.versions or {}) do
    if one.version == version then return one end
  end
  return nil
end

---@class blis.ResidualPlace
---@field prefill_share? number
---@field tp? integer
---@field version? integer of vLLM: 1000 * major + minor; nil = the latest

--- Half and four fifths of the TPOT residuals at a share of time in steps with prompt tokens, at a
--- TP degree, and of an engine version.
---@param row blis.ResidualRow
---@param place blis.ResidualPlace
---@return number half
---@return number band
function residuals.tpot(row, place)
  local own = of_version(row, place.version)
  if own then return own.tpot[1], own.tpot[2] end
  local t, shares = row.tpot, row.prefill_share
  if not shares then
    local factor = math.sqrt(row.many_gpus or 1)
    if (place.tp or 1) < many_gpus then factor = 1 / factor end
    return t[1] * factor, t[2] * factor
  end
  local at = ((place.prefill_share or 0) - shares[1]) / math.max(shares[2] - shares[1], 1e-9)
  at = math.max(0, math.min(1, at))
  return t[1] + (t[3] - t[1]) * at, t[2] + (t[4] - t[2]) * at
end

--- Half and four fifths of the TTFT residuals.
---@param row blis.ResidualRow with ttft
---@param place blis.ResidualPlace
---@return number half
---@return number band
function residuals.ttft(row, place)
  local own = of_version(row, place.version)
  local pair = own and own.ttft or row.ttft
  return pair[1], pair[2]
end

return residuals

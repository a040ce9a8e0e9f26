--- A deterministic, scriptable simulator of LLM inference clusters.
local core = require "blis.core"
local comparison = require "blis.comparison"
local errors = require "blis.errors"
local experiment = require "blis.experiment"
local policy = require "blis.policy"
local trace = require "blis.trace"
local units = require "blis.units"
local workload = require "blis.workload"

---@class blis
local blis = {
  _VERSION = core._VERSION,

  run = experiment.run,
  simulation = experiment.simulation,
  compare = comparison.compare,

  workload = workload.new,
  trace = trace,

  scorer = policy.scorer,
  router = policy.router,

  seconds = units.seconds,
  milliseconds = units.milliseconds,
  minutes = units.minutes,

  vec = core.vec,
}

--- A random stream: the one called name under a master seed, or, without a name, the one of the seed.
---@param seed integer
---@param name? string
---@return blis.Rng
function blis.rng(seed, name)
  return core.rng(seed, name)
end

--- What an admission policy returns to let a request in.
---@return string
function blis.admit()
  return "admit"
end

--- What an admission policy returns to refuse a request.
---@param reason? string
---@return string, string?
function blis.reject(reason)
  return "reject", reason
end

--- What an admission policy returns to be asked again later.
---@param delay_us integer
---@return string, integer
function blis.delay(delay_us)
  return "delay", delay_us
end

local names = {}
for name in pairs(blis) do names[#names + 1] = name end
table.sort(names)

return setmetatable(blis, {
  __index = function(_, name)
    errors.invalid("blis has no '%s'%s", tostring(name), errors.suggestion(tostring(name), names))
  end,
})

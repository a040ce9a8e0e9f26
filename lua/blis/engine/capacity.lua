--- The highest rate at which a figure keeps its limit.
local core = require "blis.core"
local errors = require "blis.errors"
local format = require "blis.format"
local options = require "blis.config.sweep"
local runner = require "blis.sweep.runner"
local schema = require "blis.config.schema"
local sweep = require "blis.sweep"
local table_of = require "blis.sweep.table"

local capacity = {}

---@class blis.Probe
---@field rate number
---@field estimate blis.Estimate of the figure
---@field holds boolean

---@class blis.Capacity
---@field rate number? the highest that holds; nil when the first one does not
---@field fails_at number? the lowest that does not; nil when all hold
---@field probes blis.Probe[] in the order of the search
local Capacity = {}
Capacity.__index = Capacity
Capacity.__name = "blis.capacity"

--- Runs a rate with all seeds.
local function probe(values, rate)
  local one = sweep.new {
    name = "capacity", points = { { rate = rate } }, replications = values.replications,
    seed = values.seed, trial = values.trial, report = { values.metric }, identity = "capacity",
  }
  local known = runner.run(one.plan, one.values, one.trial,
    { jobs = values.jobs == "auto" and core.processors() or values.jobs, quiet = true })
  local result = table_of.new(one.plan, known)
  local failure = result.failures[1]
  if failure then errors.invalid("%s: %s", failure.name, failure.reason) end
  local estimate = result.points[1].metrics[values.metric]
  return { rate = rate, estimate = estimate,
    holds = estimate ~= nil and estimate.mean <= values.limit }
end

local function tell(values, found)
  if values.quiet then return end
  local mean = found.estimate and found.estimate.mean
  io.stderr:write(("blis: capacity: %s at %s requests/s %s the limit\n"):format(
    format.number(mean, 1), format.number(found.rate, 3), found.holds and "keeps" or "exceeds"))
end

--- Searches the highest rate: doubles until the limit is exceeded, then halves the interval (of the
--- logarithms) until it is narrow enough. What exceeds the limit at some rate is taken to exceed it
--- at higher ones.
---@param spec blis.CapacityOptions
---@return blis.Capacity
function capacity.search(spec)
  local values = schema.read(options.capacity, spec, "capacity")
  if values.from > values.to then
    errors.invalid("capacity: from = %g is above to = %g", values.from, values.to)
  end
  local self = setmetatable({ probes = {}, metric = values.metric, limit = values.limit }, Capacity)
  local function holds(rate)
    local found = probe(values, rate)
    table.insert(self.probes, found)
    tell(values, found)
    if found.holds then self.rate = rate else self.fails_at = rate end
    return found.holds
  end
  local rate = values.from
  while holds(rate) and rate < values.to do rate = math.min(rate * 2, values.to) end
  while self.rate and self.fails_at and self.fails_at / self.rate > 1 + values.tolerance do
    holds(math.sqrt(self.rate * self.fails_at))
  end
  return self
end

--- What print(capacity) shows.
function Capacity:__tostring()
  local limit = ("%s <= %.6g"):format(self.metric, self.limit)
  if not self.rate then
    return ("%s does not hold at %s requests/s"):format(limit, format.number(self.fails_at, 3))
  end
  if not self.fails_at then
    return ("%s holds up to %s requests/s, where the search ended"):format(limit,
      format.number(self.rate, 3))
  end
  return ("%s holds up to %s requests/s, and not at %s (%d rates tried)"):format(limit,
    format.number(self.rate, 3), format.number(self.fails_at, 3), #self.probes)
end

return capacity

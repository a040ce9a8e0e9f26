--- blis.sweep: a function tried with many parameters and seeds, on all cores, resumable.
local again = require "blis.sweep.again"
local deferred = require "blis.deferred"
local errors = require "blis.errors"
local options = require "blis.config.sweep"
local plan = require "blis.sweep.plan"
local processors = deferred "blis.processors"
local runner = require "blis.sweep.runner"
local schema = require "blis.config.schema"
local settings = require "blis.sweep.settings"
local shard = require "blis.sweep.shard"
local space = require "blis.sweep.space"
local table_of = require "blis.sweep.table"

---@class blis.sweep.Module what `blis.sweep` is
---@overload fun(spec: blis.SweepOptions): blis.Sweep
local sweep = {}

---@class blis.Sweep
---@field options table what the section of sweeps has read
---@field plan blis.sweep.Plan
---@field values table<string, any>[] of the points
---@field trial fun(p: table): any
---@field cost? fun(p: table): number
local Sweep = {}
Sweep.__index = Sweep
Sweep.__name = "blis.sweep"

--- Splits replications into a number or a rule.
local function read_replications(values)
  if type(values.replications) == "number" then return end
  local rule = schema.read(options.precision, values.replications, "replications")
  if rule.max < rule.min then
    errors.invalid("replications: max = %d is below min = %d", rule.max, rule.min)
  end
  values.metric = rule.metric
  values.rule = { rule = "precision", min = rule.min, max = rule.max, precision = rule.precision,
    level = values.level }
end

--- Describes a sweep; nothing is run yet.
---@param spec blis.SweepOptions
---@return blis.Sweep
function sweep.new(spec)
  local values = schema.read(options.space, spec, "sweep")
  read_replications(values)
  local names, points = space.points(values)
  local point_values = {}
  for i, point in ipairs(points) do point_values[i] = point.values end
  return setmetatable({
    options = values, plan = plan.new(values, names, points), values = point_values,
    trial = values.trial, cost = values.cost,
  }, Sweep)
end

function Sweep:__len()
  return #self.plan.trials
end

function Sweep:__tostring()
  return ("sweep %s: %d points, %d trials"):format(self.plan.name, #self.plan.points,
    #self.plan.trials)
end

--- The part of this process: given, or as the environment says when there is a store to share.
local function read_shard(values, self)
  local part
  if values.shard then
    part = shard.read(values.shard, "shard")
  elseif values.store then
    part = shard.from_environment()
  end
  if not part or part.count == 1 then return nil end
  if not values.store then
    errors.invalid("shard: requires a store, to combine the parts")
  end
  if self.plan.rule then
    errors.invalid("shard: the number of replications of a point cannot be decided separately in "
      .. "each shard; set replications to a number")
  end
  return part
end

local function read_run_options(self, given)
  local values = schema.read(options.run, given, "run")
  for name, value in pairs(settings.overrides) do values[name] = value end
  if values.jobs == "auto" then values.jobs = processors.usable() end
  values.shard = read_shard(values, self)
  return values
end

--- Runs the trials that the store does not know yet, and returns the table of all.
---@param given? blis.SweepRunOptions
---@return blis.SweepTable
function Sweep:run(given)
  local values = read_run_options(self, given)
  values.cost = self.cost
  settings.runs = settings.runs + 1
  local run = settings.instead or runner.run
  local result = table_of.new(self.plan, run(self.plan, self.values, self.trial, values, self))
  result.store = values.store
  again.keep(result, self)
  return result
end

return setmetatable(sweep, { __call = function(_, spec) return sweep.new(spec) end })

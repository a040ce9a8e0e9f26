--- The trial of a search: the script's own, or the experiment with a value put in its place.
local errors = require "blis.errors"
local experiment = require "blis.experiment"
local presets = require "blis.config.presets"

local setting = {}

-- Where parameters lie that have a short name.
local places = { rate = "workload.rate", instances = "cluster.instances" }

--- A copy of a table of options in which the value at "a.b.c" is another one.
local function with_value(given, path, value, whole)
  local key, rest = path:match "^([%w_]+)%.?(.*)$"
  if not key or given ~= nil and type(given) ~= "table" then
    errors.invalid("capacity.parameter: '%s' is not an option of the experiment", whole)
  end
  local copy = {}
  for name, one in pairs(given or {}) do copy[name] = one end
  if rest == "" then
    copy[key] = value
  else
    copy[key] = with_value(copy[key], rest, value, whole)
  end
  return copy
end

--- Traffic with a length that the search can set.
local function is_generated(workload)
  return workload == nil or type(workload) == "table" and workload.trace == nil
end

local function length_option(workload)
  if not workload then return "requests" end
  if workload.graphs ~= nil or presets.is_agent[workload.preset] then return "count" end
  return (workload.clients or workload.file) and "num_requests" or "requests"
end

--- Returns whether a shape can be given to traffic: it is generated at a constant rate.
---@param workload any
---@return boolean
function setting.takes_shape(workload)
  return is_generated(workload) and (workload == nil or workload.shape == nil
    and workload.graphs == nil and workload.generator == nil and not presets.shapes[workload.preset]
    and not presets.is_agent[workload.preset])
end

--- Returns a copy of a workload whose rate has a shape.
---@param workload? table
---@param shape table
---@return table
function setting.with_shape(workload, shape)
  local copy = { shape = shape }
  for key, value in pairs(workload or {}) do copy[key] = value end
  return copy
end

local function of_experiment(given, parameter)
  local path = places[parameter] or parameter
  return function(p, shape)
    local spec = with_value(given, path, p[parameter], parameter)
    spec.seed = p.seed
    if is_generated(spec.workload) then
      spec.workload = with_value(spec.workload, length_option(spec.workload), p.requests)
      if shape then spec.workload = setting.with_shape(spec.workload, shape) end
    end
    return experiment.run(spec)
  end
end

--- Adds trial to the search.
---@param search blis.capacity.Search
---@param values table options of blis.capacity
---@param surged? fun(p: table, shape: table): blis.Result as the trial, with a shape of the rate;
--- nil = not available for this trial
function setting.add_trial(search, values, surged)
  if (values.trial == nil) == (values.experiment == nil) then
    errors.invalid "capacity: expected either a trial = function(p) or an experiment = { ... }"
  end
  search.trial = values.trial or of_experiment(values.experiment, values.parameter)
  search.surged = surged
  if values.experiment and setting.takes_shape(values.experiment.workload) then
    search.surged = search.trial
  end
  if values.experiment and not is_generated(values.experiment.workload) then
    search.steady = false
  end
end

return setting

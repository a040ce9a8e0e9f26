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
    errors.invalid("capacity.parameter: '%s' is no option of the experiment", whole)
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

local function of_experiment(given, parameter)
  local path = places[parameter] or parameter
  return function(p)
    local spec = with_value(given, path, p[parameter], parameter)
    spec.seed = p.seed
    if is_generated(spec.workload) then
      spec.workload = with_value(spec.workload, length_option(spec.workload), p.requests)
    end
    return experiment.run(spec)
  end
end

--- Adds trial to the search.
---@param search blis.capacity.Search
---@param values table options of blis.capacity
function setting.add_trial(search, values)
  if (values.trial == nil) == (values.experiment == nil) then
    errors.invalid "capacity: expected either a trial = function(p) or an experiment = { ... }"
  end
  search.trial = values.trial or of_experiment(values.experiment, values.parameter)
  if values.experiment and not is_generated(values.experiment.workload) then
    search.steady = false
  end
end

return setting

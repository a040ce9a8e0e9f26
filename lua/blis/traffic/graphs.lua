--- Session graphs as a workload: requests that wait for others.
local core = require "blis.core"
local errors = require "blis.errors"
local schema = require "blis.config.schema"
local sections = require "blis.config.workload"
local types = require "blis.config.types"

local graphs = {}

--- A function that makes, for every run anew, a function(number) that returns a graph.
local function factory_of(given, path, seed)
  if type(given) == "function" then
    return function()
      local rng = core.rng(seed, "workload-graphs")
      return function(number) return given(rng, number) end
    end
  end
  for i = 1, #given do
    errors.located(core.check_graph, given[i], path, i)
  end
  return function()
    return function(number) return given[number] end
  end
end

--- What check_graphs of the core takes.
---@param given table
---@param path string
---@param defaults blis.WorkloadDefaults
---@return table
function graphs.read(given, path, defaults)
  local values = schema.read(sections.graphs, given, path)
  local place = path .. ".graphs"
  local is_function = type(values.graphs) == "function"
  if not is_function and (type(values.graphs) ~= "table" or #values.graphs == 0) then
    schema.raise_value(place, values.graphs, "a list of graphs, or a function(rng, number)")
  end
  if values.rate and values.concurrency then
    errors.invalid("%s: 'rate' and 'concurrency' exclude each other", path)
  end
  local horizon_us = values.horizon_us or defaults.horizon_us or 0
  if is_function and not values.count and horizon_us == 0 then
    errors.invalid("%s: graphs of a function might never end; give count, or a horizon", path)
  end
  local seed = values.seed or defaults.seed
  return {
    graphs = factory_of(values.graphs, place, seed), can_repeat = not is_function,
    rate = values.rate, arrival = types.arrival.check(values.arrival, nil, path .. ".arrival"),
    concurrency = values.concurrency,
    count = values.count, horizon_us = horizon_us, timeout_us = values.timeout_us,
    speed = values.speed, continues = values.on_failure == "continue",
    tells_future = values.hints, seed = seed,
  }
end

--- About how long graphs start; 0: nobody knows.
function graphs.length_us(spec)
  if spec.horizon_us > 0 then return spec.horizon_us end
  return spec.rate and spec.count and math.tointeger((spec.count / spec.rate * 1e6) // 1) or 0
end

return graphs

--- Common parts of the suites for routing policies: the baseline, the minimum gain, candidates that
--- are weights of the baseline's scorers, and the number of seeds per stage.
local routing = {}

--- The version of the defaults that the suites and their bounds were made for: scores stay
--- comparable.
routing.defaults = "1.0-rc1"

local common = {
  baseline = [[
return { "weighted", scorers = "prefix-affinity:3,queue-depth:2,kv-utilization:2" }
]],
  baseline_sha = "c924e97263aade0b",
  parameters = {
    { name = "prefix", low = 0.01, high = 10, default = 3 },
    { name = "queue", low = 0.01, high = 10, default = 2 },
    { name = "kv", low = 0.01, high = 10, default = 2 },
  },
  policy = function(p)
    return { routing = { "weighted", scorers = { { "prefix-affinity", p.prefix },
      { "queue-depth", p.queue }, { "kv-utilization", p.kv } } } }
  end,
}

--- Adds that to a suite, where it has no baseline or parameters of its own; its scenarios, and its
--- bounds oracle and catalogue (the best of all policies that ship, on the train split), are.
---@param suite table
---@return table suite
function routing.add(suite)
  local groups = { { "baseline", "baseline_sha" }, { "parameters", "policy" } }
  for _, names in ipairs(groups) do
    if suite[names[1]] == nil then
      for _, name in ipairs(names) do suite[name] = common[name] end
    end
  end
  suite.bounds.reactive = [[return "least-loaded"]]
  suite.stages = {
    smoke = { seeds = 1, scenarios = { suite.scenarios[1].id } }, train = { seeds = 3 },
    full = { seeds = 8 }, test = { seeds = 8 },
  }
  return suite
end

--- A scenario with other options of its workload and cluster.
---@param scenario table
---@param changes { workload?: table, cluster?: table, weight?: number }
---@return table scenario
function routing.change(scenario, changes)
  for _, part in ipairs { "workload", "cluster" } do
    for key, value in pairs(changes[part] or {}) do scenario[part][key] = value end
  end
  scenario.weight = changes.weight
  return scenario
end

return routing

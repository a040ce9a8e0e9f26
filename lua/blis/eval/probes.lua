--- Questions about a policy that its score does not answer: does it depend on the order in which
--- instances are listed, and does another idle instance make it worse? Reported, never fatal.
local core = require "blis.core"
local processes = require "blis.eval.processes"
local score = require "blis.eval.score"

local probes = {}

-- Larger changes are reported. Another order breaks ties differently, which changes the cost of a
-- single run by a few percent.
local order_tolerance, monotone_tolerance = 0.25, 0.05

local function with_cluster(scenario, changes)
  local copy, cluster = {}, {}
  for key, value in pairs(scenario) do copy[key] = value end
  for key, value in pairs(scenario.cluster) do cluster[key] = value end
  for key, value in pairs(changes) do cluster[key] = value end
  copy.cluster = cluster
  return copy
end

--- Every instance as a group of its own, by the number of the group that it was in.
local function singles(groups)
  local list = {}
  for number, group in ipairs(groups) do
    for _ = 1, group.instances or 1 do
      local one = {}
      for key, value in pairs(group) do one[key] = value end
      one.instances = 1
      list[#list + 1] = { number = number, group = one }
    end
  end
  return list
end

local function is_in_order(list)
  for i = 2, #list do
    if list[i].number < list[i - 1].number then return false end
  end
  return true
end

local function in_order_of(scenario, list)
  local groups = {}
  for i, one in ipairs(list) do groups[i] = one.group end
  return with_cluster(scenario, { groups = groups })
end

--- Clusters whose instances are listed the other way round, and in an order by chance. Instances
--- that are all alike have no order that could matter.
local function in_other_orders(scenario, seed)
  local list, turned = singles(scenario.cluster.groups or {}), {}
  if #list == 0 or list[1].number == list[#list].number then return {} end
  for i, one in ipairs(list) do turned[#list + 1 - i] = one end
  local rng = core.rng(seed, "order of endpoints")
  repeat rng:shuffle(list) until not is_in_order(list)
  return { in_order_of(scenario, turned), in_order_of(scenario, list) }
end

local function with_one_more(scenario)
  local groups = scenario.cluster.groups
  if not groups then
    return with_cluster(scenario, { instances = (scenario.cluster.instances or 1) + 1 })
  end
  local more, first = { table.unpack(groups) }, {}
  for key, value in pairs(groups[1]) do first[key] = value end
  first.instances = (first.instances or 1) + 1
  more[1] = first
  return with_cluster(scenario, { groups = more })
end

local function share(measures) return measures.good / math.max(1, measures.offered) end

--- The findings, in the order of the scenarios.
---@param suite blis.eval.Suite
---@param one blis.eval.Candidate
---@param options blis.eval.Options
---@param measures blis.eval.Measures[][] of the stage
---@return string[]
function probes.run(suite, one, options, measures)
  local tasks, kinds = {}, {}
  local function add(kind, index, scenario)
    tasks[#tasks + 1] = { suite = suite, candidate = one, scenario = scenario,
      seed = options.stage.seeds[1], limits = options.limits }
    kinds[#tasks] = { kind = kind, index = index }
  end
  for index, scenario in ipairs(options.stage.scenarios) do
    for _, other in ipairs(in_other_orders(scenario, options.stage.seeds[1])) do
      add("order", index, other)
    end
    add("monotone", index, with_one_more(scenario))
  end
  local notes = {}
  for i, outcome in ipairs(processes.run(tasks, options.jobs)) do
    local index, id = kinds[i].index, tasks[i].scenario.id
    local before, after = measures[index][1], outcome.measures
    if not after then
      notes[#notes + 1] = ("probe of %s failed: %s"):format(id, outcome.failure.message)
    elseif kinds[i].kind == "order" then
      local change = score.of_run(tasks[i].scenario.cost, before, after)
      if math.abs(change) > order_tolerance then
        notes[#notes + 1] = ("PROBE: depends on the order of the endpoints: %s changes by %+.0f%%"
          .. " when they are listed in another order."):format(id, 100 * (math.exp(change) - 1))
      end
    elseif share(after) < share(before) * (1 - monotone_tolerance) then
      notes[#notes + 1] = ("PROBE: one more idle endpoint makes %s worse: %.1f%% served well "
        .. "instead of %.1f%%."):format(id, 100 * share(after), 100 * share(before))
    end
  end
  return notes
end

return probes

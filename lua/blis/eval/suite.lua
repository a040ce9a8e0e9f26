--- Suites: scenarios with seeds, weights and targets, a split into train, validation and test,
--- stages that cost more and more, a baseline that stays, and limits of candidates.
---
--- A suite is a Lua file that returns a table; the ones in lua/blis/eval/suites ship with blis. It
--- is trusted as any script of its user is; candidates never see it.
local chunks = require "blis.chunk"
local core = require "blis.core"
local errors = require "blis.errors"
local schema = require "blis.config.schema"
local slo = require "blis.results.slo"

local suite = {}

--- The suites that ship, by name.
suite.names = { "chat", "agents", "gateway" }

---@class blis.eval.Scenario
---@field id string
---@field split "train"|"validation"|"test"
---@field weight number
---@field cluster table options of blis.run
---@field workload table
---@field horizon_us integer
---@field slo table<string, table> targets by class
---@field patience_us integer the time that counts for a request that was never served
---@field cost { metric: string, weight: number }[]
---@field oracle boolean
---@field options table more options of the experiment
---@field requests integer that arrive without failures

---@class blis.eval.Stage
---@field name string
---@field split string
---@field seeds integer[]
---@field scenarios blis.eval.Scenario[]

---@class blis.eval.Suite
---@field name string
---@field summary string
---@field scenarios blis.eval.Scenario[]
---@field stages table<string, blis.eval.Stage>
---@field baseline string Lua text
---@field bounds table<string, string> "reactive", "catalogue" and "oracle": Lua code
---@field seed_program string where a search starts
---@field parameters blis.eval.Parameter[]
---@field policy fun(parameters: table<string, number>): table
---@field limits blis.eval.Limits
---@field fairness_floor number
---@field tie string
---@field soft table<string, number> tolerated excess by name
---@field hash string
---@field baseline_hash string

---@class blis.eval.Limits
---@field call_instructions integer of the main chunk, and of each call of a hook
---@field all_instructions integer of a run
---@field memory_mb integer on top of what blis needs
---@field wall_s number of a run
---@field cpu_s number

---@type blis.Section
local limits_section = {
  name = "limits",
  summary = "Limits of a candidate.",
  options = {
    {
      name = "call_instructions", type = "integer", min = 1000, max = 1 << 50, default = 2000000,
      doc = "Lua instructions of the main chunk, and of each call of a hook.",
    },
    {
      name = "all_instructions", type = "integer", min = 1000, max = 1 << 50,
      default = 4000000000, doc = "Lua instructions of a whole run.",
    },
    {
      name = "memory_mb", type = "integer", min = 1, max = 1 << 20, default = 256, unit = "MB",
      doc = "Memory limit of a run, in addition to the memory in use before.",
    },
    {
      name = "wall_s", type = "number", above = 0, max = 1000000, default = 30, unit = "s",
      doc = "Wall-clock time limit of a run. It is not reproducible, so it is checked last.",
    },
    {
      name = "cpu_s", type = "number", above = 0, max = 1000000, default = 30, unit = "s",
      doc = "Processor time of a run, in whole seconds.",
    },
    {
      name = "events", type = "integer", min = 1, max = 1 << 50, default = 100000000,
      doc = "Engine steps of a run.",
    },
  },
}

suite.limits_section = limits_section

---@type blis.Section
local scenario_section = {
  name = "scenario",
  summary = "A cluster and its traffic.",
  options = {
    { name = "id", type = "string", required = true, doc = "Its name." },
    {
      name = "split", type = "choice", choices = { "train", "validation", "test" },
      default = "train", doc = "Use of the scenario: search (train), check (validation), or final "
        .. "score (test).",
    },
    { name = "weight", type = "number", above = 0, max = 1e6, default = 1, doc = "Its weight in "
      .. "the score." },
    { name = "cluster", type = "table", required = true, doc = "Options of the cluster." },
    { name = "workload", type = "table", required = true, doc = "Options of generated traffic." },
    {
      name = "drain_us", type = "time_us", min = 0, default = 120000000, unit = "us",
      doc = "Time after the last planned arrival. Requests that are unfinished then count as "
        .. "unserved.",
    },
    { name = "slo", type = "table", required = true, doc = "Targets by class, as slo_targets." },
    {
      name = "patience_us", type = "time_us", min = 1, default = 60000000, unit = "us",
      doc = "Minimum latency that counts for an unserved request.",
    },
    {
      name = "cost", type = "table", doc = "Cost function, a list of { metric, weight }. Default: "
        .. "miss_frac, ttft_p99_ms, and e2e_mean_ms with equal weights.",
    },
    { name = "oracle", type = "boolean", default = false,
      doc = "Whether candidates may read output_tokens. Results include this setting." },
    { name = "options", type = "table", doc = "More options of the experiment." },
  },
}

local stage_section = {
  name = "stage", summary = "A stage: the part of a suite that is run.",
  options = {
    { name = "seeds", type = "integer", min = 1, max = 10000, required = true,
      doc = "Number of seeds." },
    { name = "scenarios", type = "table", doc = "Scenario IDs. Default: all scenarios of the "
      .. "split." },
  },
}

---@type blis.Section
local suite_section = {
  name = "suite",
  summary = "Scenarios for scoring candidates.",
  options = {
    { name = "name", type = "string", required = true, doc = "Its name." },
    { name = "version", type = "string", default = "1", doc = "Version, which changes with the "
      .. "meaning of the suite." },
    { name = "summary", type = "string", default = "", doc = "Description in one line." },
    { name = "scenarios", type = "table", required = true, doc = "A list of scenarios." },
    { name = "stages", type = "table", required = true,
      doc = "smoke, train, full and test: { seeds =, scenarios = }." },
    { name = "baseline", type = "string", required = true,
      doc = "Lua code of the baseline." },
    { name = "baseline_sha", type = "string",
      doc = "First 16 hexadecimal digits of the hash of the baseline. A changed baseline is an "
        .. "error." },
    { name = "bounds", type = "table", doc = "reactive, catalogue, oracle: Lua code that bounds "
        .. "the possible gain." },
    { name = "seed_program", type = "string", default = "", doc = "Start of a search." },
    { name = "parameters", type = "table",
      doc = "A list of { name =, low =, high =, default = } for candidates that are numbers." },
    { name = "policy", type = "any", doc = "A function of these that returns { routing = ... }." },
    { name = "limits", type = "table", doc = "Limits of a candidate." },
    { name = "fairness_floor", type = "number", min = 0, max = 1, default = 0.5,
      doc = "Minimum service of each class and tenant, as a fraction of the baseline. Candidates "
        .. "below it are invalid." },
    { name = "tie", type = "choice", choices = { "random", "lowest-id", "first", "last", "rotate" },
      default = "random", doc = "Tie-breaking of built-in routers." },
    { name = "soft", type = "table", doc = "Tolerated excess over the baseline of reject_frac and "
        .. "preemptions_per_request; what exceeds it costs score." },
  },
}

local default_cost = { { "miss_frac", 1 }, { "ttft_p99_ms", 1 }, { "e2e_mean_ms", 1 } }

--- Metrics that a cost may be made of: less is better, above 0, and every request counts.
suite.cost_metrics = { "miss_frac", "ttft_p99_ms", "ttft_mean_ms", "e2e_mean_ms", "e2e_p99_ms",
  "itl_mean_ms", "cost_usd" }

local function read_cost(given, path)
  local list, known = {}, {}
  for _, name in ipairs(suite.cost_metrics) do known[name] = true end
  for i, item in ipairs(given) do
    local name, weight = item[1], item[2] or 1
    if not known[name] then
      errors.invalid("%s[%d]: %s is not a cost metric%s", path, i, errors.show(name),
        errors.suggestion(tostring(name), suite.cost_metrics))
    end
    list[i] = { metric = name, weight = weight }
  end
  if #list == 0 then errors.invalid("%s: the list is empty, expected one or more", path) end
  return list
end

-- Requests of a scenario at most.
local most_requests = 1000000000

--- Raises where the number of requests of a workload, or their rate, is none.
---@param workload table
---@param path string
function suite.check_traffic(workload, path)
  local requests = workload.requests or workload.num_requests
  if math.type(requests) ~= "integer" or requests < 1 or requests > most_requests then
    errors.invalid("%s.%s is %s, expected an integer from 1 to %d", path,
      workload.num_requests and "num_requests" or "requests", errors.show(requests), most_requests)
  end
  for _, name in ipairs { "rate", "aggregate_rate" } do
    local rate = workload[name]
    if rate ~= nil and (not math.type(rate) or not (rate >= 1e-6 and rate <= 1e9)) then
      errors.invalid("%s.%s is %s, expected a number from 0.000001 to 1000000000", path, name,
        errors.show(rate))
    end
  end
end

--- Where a run ends: so long after the last planned request arrives, about.
---@param workload table
---@param drain_us integer
---@return integer
function suite.horizon_of(workload, drain_us)
  local rate = workload.rate or workload.aggregate_rate or 1
  local seconds = (workload.requests or workload.num_requests or 100) / rate
  return math.tointeger(math.ceil(seconds * 1e6)) + drain_us
end

--- A scenario as suites write them.
---@param given table
---@param path string
---@return blis.eval.Scenario
function suite.read_scenario(given, path)
  local values = schema.read(scenario_section, given, path)
  values.cost = read_cost(values.cost or default_cost, path .. ".cost")
  values.requests = values.workload.requests or values.workload.num_requests
  suite.check_traffic(values.workload, path .. ".workload")
  values.horizon_us = suite.horizon_of(values.workload, values.drain_us)
  values.options = values.options or {}
  values.targets = slo.read(values.slo, path .. ".slo")
  return values
end

local first_seed = { train = 1, validation = 101, test = 1001 }

local function scenarios_of(scenarios, split, ids, path)
  local list, by_id, words = {}, {}, {}
  for _, one in ipairs(scenarios) do
    if one.split == split then
      by_id[one.id], words[#words + 1] = one, one.id
      if not ids then list[#list + 1] = one end
    end
  end
  for i, id in ipairs(ids or {}) do
    list[i] = by_id[id]
      or errors.invalid("%s: no scenario '%s' in split %s%s", path, tostring(id), split,
        errors.suggestion(tostring(id), words))
  end
  return list
end

local function read_stages(self, given)
  local stages = {}
  for _, name in ipairs { "smoke", "train", "full", "test" } do
    local path = "stages." .. name
    if given[name] == nil then errors.invalid("%s is missing", path) end
    local values = schema.read(stage_section, given[name], path)
    local split = name == "test" and "test" or "train"
    local seeds = {}
    for i = 1, values.seeds do seeds[i] = first_seed[split] + i - 1 end
    stages[name] = { name = name, split = split, seeds = seeds,
      scenarios = scenarios_of(self.scenarios, split, values.scenarios, path) }
    if #stages[name].scenarios == 0 then
      errors.invalid("%s: no scenario is in split %s", path, split)
    end
  end
  return stages
end

--- A later stage contains the earlier ones, so that a score is refined and not drawn again.
local function check_nested(stages)
  for _, two in ipairs { { "smoke", "train" }, { "train", "full" } } do
    local small, large = stages[two[1]], stages[two[2]]
    local is_there = {}
    for _, one in ipairs(large.scenarios) do is_there[one.id] = true end
    for _, one in ipairs(small.scenarios) do
      if not is_there[one.id] or #small.seeds > #large.seeds then
        errors.invalid("stages.%s does not contain stages.%s", large.name, small.name)
      end
    end
  end
end

--- A stage over the validation split in place of that of its name.
---@param self blis.eval.Suite
---@param stage blis.eval.Stage
---@return blis.eval.Stage
function suite.validation(self, stage)
  local seeds = {}
  for i = 1, #stage.seeds do seeds[i] = first_seed.validation + i - 1 end
  return { name = stage.name, split = "validation", seeds = seeds,
    scenarios = scenarios_of(self.scenarios, "validation", nil, "validation") }
end

--- A stage in which candidates know the future and signals are always current; the ids and seeds
--- are the same, so that it is compared with what the baseline does without.
---@param stage blis.eval.Stage
---@return blis.eval.Stage
function suite.oracle(stage)
  local scenarios = {}
  for i, one in ipairs(stage.scenarios) do
    local copy, cluster = {}, {}
    for key, value in pairs(one) do copy[key] = value end
    for key, value in pairs(one.cluster) do cluster[key] = value end
    cluster.snapshot_refresh_us, cluster.cache_signal_delay_us = 0, 0
    copy.cluster, copy.oracle = cluster, true
    scenarios[i] = copy
  end
  return { name = stage.name, split = stage.split, seeds = stage.seeds, scenarios = scenarios,
    baseline = stage }
end

local function check_baseline(self)
  self.baseline_hash = core.hash128(self.baseline):sub(1, 16)
  if self.baseline_sha and self.baseline_sha ~= self.baseline_hash then
    errors.invalid("suite.baseline: its hash is %s, but baseline_sha is %s; scores of different "
      .. "baselines cannot be compared", self.baseline_hash, self.baseline_sha)
  end
end

--- A suite of what its file returned.
---@param given table
---@param text string of the file, for the hash
---@return blis.eval.Suite
function suite.of_table(given, text)
  local self = schema.read(suite_section, given, "suite")
  local scenarios, seen = {}, {}
  for i, one in ipairs(self.scenarios) do
    scenarios[i] = suite.read_scenario(one, ("scenarios[%d]"):format(i))
    if seen[scenarios[i].id] then
      errors.invalid("scenarios[%d]: duplicate scenario '%s'", i, scenarios[i].id)
    end
    seen[scenarios[i].id] = true
  end
  self.scenarios = scenarios
  self.stages = read_stages(self, self.stages)
  check_nested(self.stages)
  self.limits = schema.read(limits_section, self.limits or {}, "limits")
  for _, name in ipairs { "parameters", "bounds", "soft" } do self[name] = self[name] or {} end
  if (#self.parameters > 0) ~= (type(self.policy) == "function") then
    errors.invalid("suite: parameters requires policy, and policy requires parameters")
  end
  check_baseline(self)
  self.hash = core.hash128(text):sub(1, 16)
  return self
end

local function read_file(path)
  local file, problem = core.open_input(path)
  if not file then return nil, problem end
  local text, why = file:read "a"
  file:close()
  return text, why and path .. ": " .. why
end

--- A suite by its name or path.
---@param name string
---@return blis.eval.Suite
function suite.read(name)
  for _, known in ipairs(suite.names) do
    if known == name then
      local module = "blis.eval.suites." .. name
      local given = require(module)
      return suite.of_table(given, name .. core._VERSION .. given.version)
    end
  end
  local text, problem = read_file(name)
  if not text then
    errors.invalid("suite: cannot open %s%s", problem,
      errors.suggestion(name, suite.names, "built-in suites: " .. table.concat(suite.names, ", ")))
  end
  local chunk, wrong = chunks.load(text, "@" .. name)
  if not chunk then errors.invalid("suite: %s", wrong) end
  local given = chunk()
  if type(given) ~= "table" then
    errors.invalid("suite: %s returned %s, expected a table", name, errors.show(given))
  end
  return suite.of_table(given, text)
end

return suite

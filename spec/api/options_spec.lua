local blis = require "blis"
local small = require "spec.support.small"

local says = small.says

local nothing = { "weighted", scorers = {} }

local cases = {
  -- what is given, what the message must say
  { { clustr = {} }, { "unknown option 'clustr'", "did you mean 'cluster'?" } },
  { { cluster = { instnces = 4 } },
    { "cluster: unknown option 'instnces'", "did you mean 'instances'?" } },
  { { cluster = { num_instances = 4 } }, { "did you mean 'instances'?" } },
  { { instances = 4 }, { "unknown option 'instances'; it belongs to 'cluster'" } },
  { { cluster = { rate = 4 } }, { "cluster: unknown option 'rate'; it belongs to 'workload'" } },
  { { workload = { profile = 4 } }, { "unknown option 'profile'; it belongs to the experiment" } },
  { { cluster = { instances = 0 } }, { "cluster.instances: invalid value 0", "from 1 to" } },
  { { cluster = { instances = 2.5 } }, { "cluster.instances: invalid value 2.5", "an integer" } },
  { { cluster = { instances = "four" } }, { "cluster.instances: invalid value 'four'",
    "an integer" } },
  { { cluster = { scheduler = "lifo" } },
    { "cluster.scheduler: invalid value 'lifo'", "one of fcfs, priority-fcfs" } },
  { { cluster = { gpu_memory_utilization = 1.5 } }, { "above 0 and up to 1" } },
  { { cluster = { expert_parallel = 1 } }, { "cluster.expert_parallel: invalid value 1",
    "true or false" } },
  { { cluster = 4 }, { "cluster: invalid value 4", "a table of options" } },
  { { cluster = { model = "qwen/qwen3-15b" } }, { "qwen/qwen3-15b", "qwen3-14b" } },
  { { cluster = { hardware = "H101" } }, { "H101", "H100" } },
  { { cluster = { alpha_coeffs = { 1, -1 } } },
    { "cluster.alpha_coeffs", "numbers of at least 0" } },
  { { cluster = { kv_blocks = 1, total_kv_blocks = 2 } }, { "the same option" } },
  { { cluster = { snapshot_refresh_us = -1 } }, { "whole number of microseconds" } },
  { { workload = { rate = 0 } }, { "workload.rate: invalid value 0", "above 0" } },
  { { workload = { rate = "fast" } }, { "workload.rate: invalid value 'fast'", "a number" } },
  { { workload = { rate = 0 / 0 } }, { "workload.rate", "a number" } },
  { { workload = { requests = 0 } }, { "set requests above 0, or horizon_us" } },
  { { workload = { prompt = { "gausian", mean = 5 } } },
    { "workload.prompt", "gausian", "gaussian" } },
  { { workload = { prompt = { "gaussian", mean = 5 } } }, { "workload.prompt", "std_dev" } },
  { { workload = { prompt = { "gaussian", men = 5 } } }, { "workload.prompt", "men" } },
  { { workload = { prompt = 10, prompt_tokens = 20 } }, { "cannot be combined with" } },
  { { workload = { prompt = true } }, { "workload.prompt", "a whole number" } },
  { { workload = { arrival = "poison" } }, { "workload.arrival", "poison", "poisson" } },
  { { workload = { arrival = { "gamma", cvv = 2 } } }, { "workload.arrival", "'cvv'" } },
  { { workload = { prefixes = { groups = 8 } } }, { "workload.prefixes.tokens is missing" } },
  { { workload = { prefixes = 8 } }, { "workload.prefixes", "groups = 8" } },
  { { workload = { clients = {}, aggregate_rate = 1 } },
    { "workload: the workload has no clients" } },
  { { workload = { clients = { {} }, aggregate_rate = 1 } },
    { "workload.clients[1]: client 1: input_distribution is missing" } },
  { { workload = { clients = { {} } } }, { "workload: aggregate_rate is 0 and client 1 has no" } },
  { { workload = 5 }, { "workload: invalid value 5", "blis.trace.read" } },
  { { routing = "rond-robin" },
    { "unknown routing policy 'rond-robin'", "did you mean 'round-robin'?" } },
  { { routing = 5 }, { "routing: invalid value 5" } },
  { { routing = {} }, { "routing: invalid value of type table" } },
  { { routing = { "round-robin", foo = 1 } }, { "round-robin: unknown option 'foo'" } },
  { { routing = { "weighted", scorers = "queue-dept:2" } },
    { "routing.scorers: unknown scorer 'queue-dept'", "did you mean 'queue-depth'?" } },
  { { routing = { "weighted", scorers = "queue-depth" } },
    { "routing.scorers: 'queue-depth' is not name:weight" } },
  { { routing = { "weighted", scorers = "queue-depth:x" } },
    { "routing.scorers: the weight of queue-depth, 'x', is not a number" } },
  { { routing = { "weighted", scorers = "queue-depth:1e999" } },
    { "routing.scorers: the weight of queue-depth", "too large" } },
  { { routing = { "weighted", scorers = "queue-depth:0" } },
    { "routing.scorers: the weight of queue-depth is 0", "> 0" } },
  { { routing = { "weighted", scorers = "queue-depth:1,queue-depth:2" } },
    { "routing.scorers: queue-depth is listed twice" } },
  { { routing = { "weighted", scorers = "queue-depth:1\0,?" } }, { "zero byte" } },
  { { routing = { "weighted", scorers = "" } }, { "routing.scorers: the list is empty" } },
  { { routing = { "weighted", scorers = { { "queue-depth", -1 } } } },
    { "routing.scorers[1][2]: invalid value -1" } },
  { { routing = { "weighted", scorers = { { "queue-depth", 1 }, { "queue-depth", 2 } } } },
    { "routing.scorers[2]: duplicate scorer 'queue-depth'" } },
  { { routing = { "weighted", scorers = { ["queue-depth"] = 2 } } },
    { "routing.scorers", "has no order", "{ { 'queue-depth', 2 }, ... }" } },
  { { routing = nothing }, { "routing.scorers: the list is empty" } },
  { { routing = { "weighted", scorers = { { "prefix-affinity", 1, block_size = 0 } } } },
    { "prefix-affinity.block_size: invalid value 0" } },
  { { routing = { "weighted", scorers = { { "prefix-affinity", 1, blocksize = 16 } } } },
    { "unknown option 'blocksize'", "did you mean 'block_size'?" } },
  { { seed = 1.5 }, { "seed: invalid value 1.5", "an integer" } },
  { { profile = "go" }, { "profile: invalid value 'go'", "one of design, go-blis" } },
  { { admission = 5 }, { "admission: invalid value 5", "a function" } },
  { { scheduler = 5 }, { "scheduler: invalid value 5" } },
  { { scheduler = "sjff" }, { "scheduler: invalid value 'sjff'", "sjf" } },
  { { horizon_us = 0 }, { "horizon_us: invalid value 0" } },
}

describe("an option that is wrong", function()
  for i, case in ipairs(cases) do
    it(("is refused with place, value and what is allowed (%d)"):format(i), function()
      local problem = small.error_of(blis.simulation, case[1])
      assert.equal("table", type(problem))
      assert.equal("invalid", problem.code)
      for _, part in ipairs(case[2]) do
        says(problem.message, part)
      end
    end)
  end

  it("is told with the place in the script", function()
    local text = 'local blis = require "blis"\nlocal _ = blis.run { cluster = { instances = 0 } }'
    local chunk = assert(load(text, "@my_script.lua"))
    local message = small.message_of(chunk)
    assert.is_truthy(message:find("^my_script.lua:2: cluster.instances"), message)
  end)

  it("has no empty place when it is about the whole table", function()
    for _, case in ipairs {
      { { clustr = {} }, ":%d+: unknown option 'clustr'" },
      { { 5 }, ":%d+: expected named options" },
      { 5, ":%d+: the experiment: invalid value 5" },
    } do
      local message = small.error_of(blis.simulation, case[1]).message
      assert.is_truthy(message:find(case[2]), message)
    end
  end)

  it("is the same error every time, whatever the order of keys", function()
    local first
    for _ = 1, 5 do
      local message = small.message_of(blis.simulation, { cluster = { bb = 1, aa = 2, cc = 3 } })
      first = first or message
      assert.equal(first, message)
    end
    says(first, "'aa'")
  end)
end)

describe("the descriptions of options", function()
  local sections = { require "blis.config.cluster", require "blis.config.experiment" }
  local workload = require "blis.config.workload"
  for _, name in ipairs { "short", "prefixes", "sessions", "file", "generator", "with_clients",
    "client", "cohort", "window" } do
    sections[#sections + 1] = workload[name]
  end
  local types = require "blis.config.types"
  require "blis.traffic.workload" -- adds the types of its own
  require "blis.traffic.shape" -- likewise

  it("are complete, and their defaults are allowed", function()
    local schema = require "blis.config.schema"
    for _, section in ipairs(sections) do
      local seen = {}
      for _, option in ipairs(section.options) do
        local where = section.name .. "." .. option.name
        assert.is_truthy(types[option.type], where)
        assert.is_truthy(option.doc and option.doc:find("%.$"), where)
        assert.is_nil(seen[option.name], where)
        seen[option.name] = true
        if option.default ~= nil then schema.check_value(option, option.default, where) end
      end
    end
  end)
end)

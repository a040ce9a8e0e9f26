--- A suite that takes a moment, for specs.
local target = { ttft_ms = 100, itl_ms = 40 }

local function scenario(id, split, changes)
  local one = {
    id = id, split = split,
    cluster = { instances = 3 },
    workload = { rate = 40, requests = 60, prompt_tokens = 300, output_tokens = 20,
      prefixes = { groups = 3, tokens = 512 } },
    slo = { default = target, critical = target, standard = target },
    drain_us = 5000000, patience_us = 10000000,
  }
  for key, value in pairs(changes or {}) do one[key] = value end
  return one
end

local function client(id, class)
  return { id = id, tenant_id = id, slo_class = class, rate_fraction = 0.5, arrival = "poisson",
    prompt = { "constant", value = 300 }, output = { "constant", value = 20 } }
end

return {
  name = "small",
  baseline = [[
return require("blis").scorer { name = "least-work", score = function(request, one)
  local work = one.pending_prefill_tokens + request.prompt_tokens * (1 - one.prefix_hit)
  return 1 / (1 + work / 500 + 0.05 * one.in_flight)
end }
]],
  bounds = { reactive = [[return "round-robin"]], oracle = [[return "least-loaded"]] },
  seed_program = "local a = 1\n# EVOLVE-BLOCK-START\nlocal b = 2\n# EVOLVE-BLOCK-END\n"
    .. 'return "least-loaded"\n',
  parameters = { { name = "queue", low = 0.1, high = 10, default = 1 },
    { name = "prefix", low = 0.1, high = 10, default = 1 } },
  policy = function(p)
    return { routing = { "weighted", scorers = { { "queue-depth", p.queue },
      { "prefix-affinity", p.prefix } } } }
  end,
  limits = { call_instructions = 2000000, all_instructions = 100000000, memory_mb = 16,
    wall_s = 120 },
  soft = { reject_frac = 0.05 },
  stages = { smoke = { seeds = 1, scenarios = { "a" } }, train = { seeds = 2 },
    full = { seeds = 4 }, test = { seeds = 4 } },
  scenarios = {
    scenario "a",
    scenario("tenants", "train", { workload = { aggregate_rate = 40, num_requests = 60,
      clients = { client("one", "critical"), client("two", "standard") } } }),
    scenario("held", "validation"),
    scenario("secret", "test", { cluster = { groups = { { instances = 2 },
      { instances = 1, hardware = "L40S", tp = 2 } } } }),
  },
}

local blis = require "blis"
local small = require "spec.support.small"

local says = small.says

local llama = "meta-llama/llama-3.1-8b-instruct"
local qwen = "qwen/qwen3-14b"

local function run(groups, changes)
  local cluster = { model = llama, hardware = "H100", tp = 1, groups = groups }
  local spec = small.experiment { cluster = cluster, routing = "least-loaded" }
  for key, value in pairs(changes or {}) do spec[key] = value end
  return blis.run(spec)
end

describe("a cluster in groups", function()
  it("is the same as one of equal instances when they are alike", function()
    local equal = blis.run(small.experiment { routing = "least-loaded",
      cluster = { model = llama, hardware = "H100", tp = 1, instances = 3 } })
    local grouped = run { { instances = 2 }, {} }
    assert.equal(equal.hash, grouped.hash)
    assert.same(equal.cost, grouped.cost)
    assert.equal(3, #grouped.instances)
    assert.equal(2, #grouped.setup.groups)
    assert.is_nil(rawget(equal.setup, "groups"))
  end)

  it("has instances with GPUs and limits of their own", function()
    local seen = {}
    local result = run({
      { instances = 2, watts = 700 },
      { hardware = "L40S", kv_blocks = 500, max_num_seqs = 7, capacity = 0.25, gpu_watts = 300 },
      { model = qwen, tp = 2, cost_per_hour = 9, latency_model = "roofline", block_size = 32 },
    }, { routing = function(request, instances)
      for i = 1, #instances do
        local one = instances[i]
        seen[one.id] = { one.tp, one.cost_per_hour, one.watts, one.capacity, one.kv_blocks,
          one.max_num_seqs }
      end
      return request.prompt_tokens % #instances + 1
    end })
    assert.equal(60, result.completed)
    assert.same({ 1, 3.5, 700, 1, 27947, 1024 }, seen.instance_1)
    assert.same({ 1, 1, 300, 0.25, 500, 7 }, seen.instance_2)
    assert.same({ 2, 9, 0, 1 }, { table.unpack(seen.instance_3, 1, 4) })
    local groups = result.setup.groups
    assert.same({ 2, 1, 1 }, { groups[1].instances, groups[2].instances, groups[3].instances })
    assert.equal("L40S", groups[2].hardware)
    assert.equal("roofline", groups[3].latency_model)
    assert.equal(2 + 1 + 2, result.cost.gpus)
    assert.near(result.duration_us / 3.6e9 * (2 * 3.5 + 1 + 2 * 3.5), result.cost.usd, 1e-9)
    says(tostring(result), "2 instances of " .. llama .. " on H100, tp 1\nKV cache of 27,947 ")
    says(tostring(result), "1 instance of " .. llama .. " on L40S, tp 1\nKV cache of 500 blocks")
    says(tostring(result), "1 instance of " .. qwen .. " on H100, tp 2\n")
  end)

  it("serves several models, each where it is", function()
    local function client(id, model)
      return { id = id, model = model, rate_fraction = 1, arrival = { process = "poisson" },
        input_distribution = { "constant", value = 100 },
        output_distribution = { "constant", value = 10 } }
    end
    local result = run({ { instances = 2 }, { model = qwen } }, { workload = { num_requests = 90,
      aggregate_rate = 30, clients = { client("a", llama), client("b", qwen),
        client("c", "another/model") } } })
    local where, rejected = { [llama] = {}, [qwen] = {} }, 0
    for i = 1, #result.requests do
      local request = result.requests[i]
      if request.model == "another/model" then
        rejected = rejected + 1
        assert.equal("no-instance", request.reason)
      else
        where[request.model][request.instance] = true
      end
    end
    assert.same({ instance_0 = true, instance_1 = true }, where[llama])
    assert.same({ instance_2 = true }, where[qwen])
    assert.equal(rejected, result.rejected)
    assert.equal(90 - rejected, result.completed)
  end)

  it("serves any model when there is but one, and its own alone with profile go-blis", function()
    local function completed(model, profile)
      local result = blis.run {
        profile = profile, cluster = { model = llama, hardware = "H100", tp = 1, instances = 2 },
        workload = { num_requests = 9, aggregate_rate = 30, clients = { { id = "a", model = model,
          rate_fraction = 1, arrival = { process = "poisson" },
          input_distribution = { "constant", value = 100 },
          output_distribution = { "constant", value = 10 } } } },
      }
      assert.equal(9, result.completed + result.rejected)
      return result.completed
    end
    assert.equal(9, completed("another/model", "design"))
    assert.equal(0, completed("another/model", "go-blis"))
    assert.equal(9, completed(llama:upper(), "go-blis"))
    assert.equal(9, completed("", "go-blis"))
  end)

  it("is the same by either engine, with a latency model and an order in Lua", function()
    local function hash(engine)
      local cluster = { model = llama, hardware = "H100", tp = 1, engine = engine,
        latency_model = function(batch) return 5000 + 10 * batch.prefill_tokens end,
        groups = { { kv_blocks = 60 }, { instances = 2, max_num_seqs = 3 } } }
      return blis.run(small.experiment { cluster = cluster, scheduler = function(a, b)
        return a.prompt_tokens < b.prompt_tokens
      end }).hash
    end
    assert.equal(hash "stepwise", hash "fast")
  end)

  it("tells models of the same name apart by their owners", function()
    --- The instances that requests for a model went to, of groups in this order.
    local function places(wanted, ...)
      local groups = {}
      for i, name in ipairs { ... } do
        groups[i] = { model = name, kv_blocks = 2000, latency_model = "blackbox",
          alpha_coeffs = { 0, 0, 0 }, beta_coeffs = { 1000, 1, 1 } }
      end
      local result = blis.run(small.experiment { cluster = { groups = groups },
        workload = { num_requests = 12, aggregate_rate = 8, clients = { { id = "a", model = wanted,
          rate_fraction = 1, arrival = { process = "poisson" },
          input_distribution = { "constant", value = 20 },
          output_distribution = { "constant", value = 3 } } } }, routing = "round-robin" })
      local seen, list = {}, {}
      for _, request in ipairs(result.requests) do seen[request.instance] = true end
      for name in pairs(seen) do list[#list + 1] = name end
      table.sort(list)
      return table.concat(list, " ")
    end
    local x, a, b = "qwen3-14b", "qwen/qwen3-14b", "other/qwen3-14b"
    assert.equal("instance_2", places(b, x, a, b))
    assert.equal("instance_2", places(b, a, x, b))
    assert.equal("instance_0", places(x, x, a, b))
    assert.equal("instance_2", places(x, a, b, x))
    assert.equal("instance_0", places(x, a, llama))
    assert.equal("instance_1", places(b, llama, x))
    for _, pair in ipairs { { a, b }, { b, a } } do
      assert.equal("instance_1", places(pair[2], table.unpack(pair)))
      says(small.message_of(places, x, table.unpack(pair)), ("request_0: its model: '%s' may be %s "
        .. "or %s; name its owner"):format(x, pair[1], pair[2]))
    end
  end)

  it("can be driven, broken and cloned", function()
    local sim = blis.simulation(small.experiment { cluster = { model = llama, hardware = "H100",
      tp = 1, groups = { {}, { hardware = "L40S" } } } })
    assert.equal("L40S", sim.instances[2].gpu)
    assert.equal(12659, sim.instances[2].kv_blocks)
    sim:run_until(500000)
    sim.instances[1]:fail { reroute = true }
    local clone = sim:clone()
    assert.equal(sim:run().hash, clone:run().hash)
  end)

  it("says what is wrong with a group", function()
    local function message(groups, more)
      local cluster = { model = llama, hardware = "H100", tp = 1, groups = groups }
      for key, value in pairs(more or {}) do cluster[key] = value end
      return small.message_of(blis.run, small.experiment { cluster = cluster })
    end
    says(message({ {} }, { instances = 2 }), "cluster: instances cannot be combined with groups")
    says(message {}, "cluster.groups: invalid value of type table: expected a list of groups")
    says(message(5), "cluster.groups")
    says(message { 5 }, "cluster.groups[1]: invalid value 5: expected a table of options")
    says(message { {}, { hardwar = "L40S" } }, "cluster.groups[2]: unknown option 'hardwar'; did "
      .. "you mean 'hardware'?")
    says(message { { snapshot_refresh_us = 5 } }, "cluster.groups[1]: unknown option")
    says(message { {}, { instances = 0 } }, "cluster.groups[2].instances: invalid value 0")
    says(message { { instances = 600000 }, { instances = 400001 } }, "cluster.groups: 1000001 "
      .. "instances in total, expected at most 1000000")
    says(message { {}, { hardware = "B999" } }, "unknown hardware 'B999'")
    says(message { {}, { capacity = 2 } }, "cluster.groups[2].capacity: invalid value 2")
    says(message { {}, { latency_model = function() return 1 end } },
      "cluster.groups[2].latency_model: "
      .. "a latency model in Lua applies to the whole cluster")
    says(message { {}, { model = "meta-llama/llama-3.1-70b-instruct" } }, "does not fit")
  end)
end)

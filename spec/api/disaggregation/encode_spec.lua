local blis = require "blis"
local notices = require "blis.notices"
local small = require "spec.support.small"

local function constant(value) return { type = "constant", params = { value = value } } end

local traffic = {
  version = "2", aggregate_rate = 20, num_requests = 60,
  clients = {
    {
      id = "pictures", rate_fraction = 0.5, arrival = { process = "poisson" },
      multimodal = {
        text_distribution = constant(200), image_distribution = constant(400),
        image_count_distribution = constant(1),
      },
      input_distribution = constant(1), output_distribution = constant(20),
    },
    {
      id = "text", rate_fraction = 0.5, arrival = { process = "poisson" },
      input_distribution = constant(200), output_distribution = constant(20),
    },
  },
}

local function run(options, cluster)
  local all = { prefill_instances = 1, decode_instances = 1, encode_instances = 1 }
  for key, value in pairs(cluster or {}) do all[key] = value end
  return blis.run { cluster = all, disaggregation = options, workload = traffic }
end

local function fails(part, options, cluster)
  local ok, problem = pcall(run, options, cluster)
  assert.is_false(ok)
  small.says(problem.message, part)
end

describe("the encode stage", function()
  it("takes the time that was given, of what is not text", function()
    local result = run { encode_base_us = 1000, encode_us_per_token = 20 }
    local encoded = 0
    for _, record in ipairs(result.requests) do
      assert.equal("completed", record.state)
      if record.encode_instance then
        encoded = encoded + 1
        assert.equal("instance_2", record.encode_instance)
        assert.equal(9000, record.encode_end_us - record.encode_start_us)
        assert.is_true(record.encode_start_us >= record.arrival_us)
        assert.is_true(record.prefill_admitted_us >= record.encode_end_us)
      end
    end
    assert.is_true(encoded > 10 and encoded < 50)
    assert.equal(encoded, result.handoffs.encoded)
    assert.equal(9.0, result.handoffs.mean_encode_ms)
  end)

  it("has a load of its own", function()
    local few = run { encode_base_us = 50000, encode_us_per_token = 100 }
    local more = run({ encode_base_us = 50000, encode_us_per_token = 100 },
      { encode_instances = 4 })
    assert.is_true(few.handoffs.mean_encode_wait_ms > 4 * more.handoffs.mean_encode_wait_ms)
    assert.is_true(few.ttft_ms.p90 > more.ttft_ms.p90)
  end)

  it("takes all requests, or none", function()
    local cost = { encode_base_us = 1000, encode_us_per_token = 20 }
    local function with(decider)
      return run { encode_decider = decider, encode_base_us = cost.encode_base_us,
        encode_us_per_token = cost.encode_us_per_token }.handoffs.encoded
    end
    assert.equal(60, with "always")
    assert.equal(0, with "never")
  end)

  it("has no default cost", function()
    fails("require encode_base_us; it has no default", { encode_us_per_token = 1 })
    fails("require encode_us_per_token", { encode_base_us = 1 })
    fails("require encode_base_us", nil)
  end)

  it("needs instances that encode, and others", function()
    fails("the cluster has no encode instances", { encode_base_us = 1, encode_us_per_token = 1 },
      { encode_instances = 0 })
    fails("no instance prefills or decodes", nil, { prefill_instances = 0, decode_instances = 0 })
    fails("instances is 3, but the pools have 4", nil, { instances = 3, encode_instances = 2 })
  end)

  it("costs nothing under go-blis, and is off", function()
    local result = blis.run {
      profile = "go-blis", workload = traffic,
      cluster = { instances = 3, prefill_instances = 1, decode_instances = 1,
        encode_instances = 1 },
      disaggregation = { encode_decider = "multimodal" },
    }
    assert.equal(0, result.handoffs.encoded)
  end)

  it("can be groups", function()
    local result = blis.run {
      workload = traffic,
      cluster = { groups = { { role = "both", instances = 2 }, { role = "encode" } } },
      disaggregation = { encode_base_us = 1000, encode_us_per_token = 20, decider = "never" },
    }
    assert.is_true(result.handoffs.encoded > 10)
    assert.equal(60, result.completed)
  end)

  it("tells of costs that nothing comes of", function()
    local told = {}
    local before = notices.collect(function(line) told[#told + 1] = line end)
    run { encode_decider = "never", encode_base_us = 5 }
    notices.collect(before)
    assert.same({ "disaggregation: encode_base_us has no effect, encode_decider = \"never\" "
      .. "encodes nothing" }, told)
  end)

  --- The records of those that were encoded, with a fault at the encoder, or one of two.
  local function encoded_with(fault, encoders)
    fault.instance = fault.instance or "instance_2"
    local result = blis.run {
      cluster = { prefill_instances = 1, decode_instances = 1, encode_instances = encoders or 1 },
      disaggregation = { encode_base_us = 1000, encode_us_per_token = 20 },
      workload = traffic, faults = { fault },
    }
    local list = {}
    for _, record in ipairs(result.requests) do
      if record.encode_instance then list[#list + 1] = record end
    end
    return list, result
  end

  it("is slowed down by a fault, from the next turn on", function()
    local times = {}
    for _, record in ipairs((encoded_with { kind = "slow", factor = 3, at = 1000000 })) do
      local took_us = record.encode_end_us - record.encode_start_us
      assert.equal(record.encode_start_us < 1000000 and 9000 or 27000, took_us)
      times[took_us] = true
    end
    assert.is_true(times[9000] and times[27000])
  end)

  it("hangs with its instance until that is killed", function()
    local function check(fault, encoders)
      fault.kind, fault.at = "hang", 1000000
      local list, result = encoded_with(fault, encoders)
      for _, record in ipairs(list) do
        local is_there = record.encode_instance == "instance_2"
        local ends_us = record.encode_end_us or 0
        assert.is_false(is_there and ends_us > 1000000 and ends_us < 1500000)
      end
      assert.equal(60, result.completed + result.failed + result.still_arriving)
      return result
    end
    local for_ever = check {}
    assert.is_true(for_ever.still_arriving > 10)
    local lost = check { recover_after = 500000 }
    assert.equal(0, lost.still_arriving)
    assert.is_true(lost.failed > 3)
    local again = check { recover_after = 500000, requests = "rerouted" }
    assert.equal(60, again.completed)
    assert.equal(60, check({ recover_after = 500000, requests = "rerouted" }, 2).completed)
  end)

  it("finishes what it has when its instance is reclaimed", function()
    local list, result = encoded_with({ kind = "reclaim", at = 1000000, notice = 5000000 }, 2)
    assert.equal(60, result.completed)
    for _, record in ipairs(list) do
      assert.is_true(record.encode_instance == "instance_3" or record.encode_start_us < 1200000)
    end
  end)
end)

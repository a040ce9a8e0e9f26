local blis = require "blis"
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
    fails("need encode_base_us; there is no default", { encode_us_per_token = 1 })
    fails("need encode_us_per_token", { encode_base_us = 1 })
    fails("need encode_base_us", nil)
  end)

  it("needs instances that encode, and others", function()
    fails("there are no instances that encode", { encode_base_us = 1, encode_us_per_token = 1 },
      { encode_instances = 0 })
    fails("nobody prefills and decodes", nil, { prefill_instances = 0, decode_instances = 0 })
    fails("3 instances, and 4 in pools", nil, { instances = 3, encode_instances = 2 })
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
end)

local blis = require "blis"

--- The mean of estimated_ttft_us / ttft_us over requests that go to the least estimate.
local function ratio_at(rate)
  local estimates = {}
  local result = blis.run { seed = 1, cluster = { model = "meta-llama/llama-3.1-8b-instruct",
    hardware = "H100", tp = 1, instances = 2, latency_model = "composed" },
    workload = { rate = rate, num_requests = 600, prompt_tokens = 800, output_tokens = 150 },
    routing = function(request, instances)
      local least, place = math.huge, 1
      for i, one in ipairs(instances) do
        if one.estimated_ttft_us < least then least, place = one.estimated_ttft_us, i end
      end
      estimates[request.id] = least
      return place
    end }
  local sum = 0
  for _, one in ipairs(result.requests) do sum = sum + estimates[one.id] / one.ttft_us end
  return sum / #result.requests
end

describe("estimated_ttft_us", function()
  it("is close to the TTFT of the engine at low and at medium load", function()
    assert.near(1, ratio_at(2), 0.05)
    assert.near(1, ratio_at(10), 0.1)
    assert.near(1, ratio_at(20), 0.15)
  end)
end)

describe("predicted-latency", function()
  it("ranks instances by the same estimate", function()
    local places, same = {}, 0
    local function run(routing)
      return blis.run { seed = 3, cluster = { model = "meta-llama/llama-3.1-8b-instruct",
        hardware = "H100", tp = 1, instances = 4, latency_model = "composed" },
        workload = { rate = 20, num_requests = 200, prompt_tokens = 800, output_tokens = 100 },
        routing = routing }
    end
    run(function(request, instances)
      local least, place = math.huge, 1
      for i, one in ipairs(instances) do
        if one.estimated_ttft_us < least then least, place = one.estimated_ttft_us, i end
      end
      places[request.id] = place
      return place
    end)
    local scored = run { "weighted", scorers = "predicted-latency:1" }
    for _, one in ipairs(scored.requests) do
      local index = tonumber(one.instance:match "%d+") + 1
      same = same + (places[one.id] == index and 1 or 0)
    end
    assert.is_true(same >= 190, ("%d of 200"):format(same))
  end)
end)

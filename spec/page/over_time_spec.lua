--- Charts over time of instances that come and go, and of hand-offs.
local blis = require "blis"
local over_time = require "blis.charts.over_time"

local function charts_of(r)
  local by_title = {}
  for _, chart in ipairs(over_time.of_result(r)) do by_title[chart.title] = chart end
  return by_title
end

describe("charts of instances over time", function()
  it("omit an instance while a fault stops it, and no other zeros", function()
    local r = blis.run { cluster = { instances = 2 }, routing = "round-robin",
      workload = { rate = 4, requests = 400, prompt_tokens = 100, output_tokens = 20 },
      faults = { { kind = "crash", at = "40s", instance = "instance_1", recover_after = "20s" } } }
    local chart = charts_of(r)["Batch size"]
    local times, own, other = chart.data[1], chart.data[3], chart.data[2]
    local omitted = 0
    for k, time in ipairs(times) do
      assert.is_truthy(other[k])
      if not own[k] then
        omitted = omitted + 1
        assert.is_true(time > 38 and time < 62, time)
      end
    end
    assert.is_true(omitted >= 10)
  end)

  it("omit instances before they start and after they stop", function()
    local r = blis.run { cluster = { instances = 1, max_num_seqs = 8 }, routing = "least-loaded",
      workload = { rate = 12, requests = 1500, prompt_tokens = 200, output_tokens = 60 },
      autoscaler = { "hpa", metrics = { requests_running = 4 } },
      scaling = { max_replicas = 4, loading_delay_us = "20s" } }
    assert.is_true(#r.instances > 1)
    local chart = charts_of(r)["Batch size"]
    local lists = chart.kind == "heat" and chart.data or table.move(chart.data, 2, #chart.data, 1,
      {})
    assert.is_truthy(lists[1][1])
    for i = 2, #lists do assert.is_false(lists[i][1]) end
  end)

  it("draw more than four instances as a heat map with names and roles", function()
    local r = blis.run { cluster = { instances = 5 }, workload = { rate = 20, requests = 200 } }
    local chart = charts_of(r)["Queue depth"]
    assert.equal("heat", chart.kind)
    assert.same({ "instance_0", "instance_1", "instance_2", "instance_3", "instance_4" },
      chart.rows)
  end)

  it("name an imbalance, and sort many instances by their load", function()
    local first = blis.router { name = "first", route = function(request)
      local number = math.tointeger(request.id:match "%d+")
      return number % 3 == 0 and 2 or number % 30 + 1
    end }
    local r = blis.run { cluster = { instances = 30 }, routing = first,
      workload = { rate = 40, requests = 2000, prompt_tokens = 100, output_tokens = 20 } }
    local chart = charts_of(r)["Batch size"]
    assert.equal("instance_01", chart.rows[1])
    assert.matches("Imbalance: instance_01 has the highest mean, and instance_%d+ has none%.",
      chart.caption)
    local even = blis.run { cluster = { instances = 6 }, routing = "round-robin",
      workload = { rate = 40, requests = 3000, prompt_tokens = 100, output_tokens = 20 } }
    assert.matches("Balanced: the means of the instances differ by at most %d+ %%%.",
      charts_of(even)["Batch size"].caption)
  end)

  it("show hand-offs as means over time, which no interval of a series can miss", function()
    local r = blis.run { cluster = { prefill_instances = 1, decode_instances = 2,
        model = "qwen/qwen3-14b", hardware = "H100" },
      workload = { rate = 10, requests = 600, prompt_tokens = 2000, output_tokens = 20 } }
    local chart = charts_of(r)["Hand-offs"]
    local sum = 0
    for _, mean in ipairs(r.requests:load(3, r.duration_us, 240).transferring) do
      sum = sum + mean * r.duration_us / 240
    end
    local expected = 0
    for _, request in ipairs(r.requests) do
      expected = expected + (request.transfer_end_us - request.transfer_start_us)
    end
    assert.is_true(expected > 0)
    assert.near(expected, sum, 1e-6 * expected)
    local non_zero = 0
    for _, mean in ipairs(chart.data[2]) do non_zero = non_zero + (mean > 0 and 1 or 0) end
    assert.is_true(non_zero > #chart.data[2] / 2)
  end)
end)

local blis = require "blis"
local small = require "spec.support.small"

local says, message_of = small.says, small.message_of

--- Values of completed requests in the order of their ends, behind the first so many.
local function kept_of(result, count)
  local list = {}
  for _, request in ipairs(result.requests) do
    if request.state == "completed" then list[#list + 1] = request end
  end
  table.sort(list, function(a, b)
    if a.end_us ~= b.end_us then return a.end_us < b.end_us end
    return a.number < b.number
  end)
  return table.move(list, count + 1, #list, 1, {})
end

local function percentile(values, share)
  table.sort(values)
  local place = share * (#values - 1)
  local below = math.floor(place)
  local low, high = values[below + 1], values[math.min(below + 2, #values)]
  return low + (high - low) * (place - below)
end

describe("warm_up_requests", function()
  it("leaves out the requests that were completed first", function()
    for _, count in ipairs { 0, 1, 25, 59 } do
      local result = blis.run(small.experiment { warm_up_requests = count })
      local steady, kept = result.steady, kept_of(result, count)
      local ttfts, first_us, last_us, tokens = {}, math.maxinteger, 0, 0
      for i, request in ipairs(kept) do
        ttfts[i] = request.ttft_us / 1000
        first_us = math.min(first_us, request.arrival_us)
        last_us = math.max(last_us, request.end_us)
        tokens = tokens + request.output_tokens
      end
      assert.equal(60 - count, steady.completed)
      assert.equal(60 - count, steady.arrived)
      assert.equal(count, steady.left_out)
      assert.near(percentile(ttfts, 0.9), steady.ttft_ms.p90, 1e-9)
      assert.equal(first_us, steady.from_us)
      assert.equal(last_us, steady.to_us)
      assert.near(tokens / ((last_us - first_us) / 1e6), steady.tokens_per_sec, 1e-9)
    end
  end)

  it("says so when nothing is left", function()
    local result = blis.run(small.experiment { warm_up_requests = 60 })
    assert.equal(0, result.steady.completed)
    assert.equal(0, result.steady.ttft_ms.p99)
    assert.equal(0, result.steady.requests_per_sec)
    says(result.setup.notes, "warm_up_requests = 60: no request is left, because only 60 completed")
    says(tostring(blis.run(small.experiment { warm_up_requests = 10 })), "after 10 requests: TTFT")
  end)

  it("is one of two ways, and needs records", function()
    says(message_of(blis.run, small.experiment { warm_up_requests = 1, warm_up_us = 1 }),
      "warm_up_us cannot be combined with")
    says(message_of(blis.run, small.experiment { warm_up_requests = 1, keep_records = false }),
      "warm_up_requests needs records")
    says(message_of(blis.run, small.experiment { warm_up_requests = -1 }), "warm_up_requests")
  end)
end)

describe("hits of requests", function()
  local function run(changes) return blis.run(small.experiment(changes)) end

  it("are counted where something of a prompt was cached", function()
    local none = run { workload = { rate = 40, requests = 60, prompt_tokens = 200 } }
    assert.equal(0, none.request_hit_rate)
    local result, hits = run { routing = "least-loaded" }, 0
    for _, request in ipairs(result.requests) do hits = hits + (request.had_hit and 1 or 0) end
    assert.is_true(hits > 40 and hits < 60)
    assert.equal(hits / 60, result.request_hit_rate)
    assert.equal(result.request_hit_rate, result:window(0).request_hit_rate)
    assert.is_false(result.requests[1].had_hit)
    -- Every second request finds 64 of its 200 tokens, so blocks say less than requests.
    assert.is_true(result.request_hit_rate > 2 * result.cache_hit_rate_overall)
  end)

  it("are the same with either engine, without records, and where prefill is apart", function()
    for _, profile in ipairs { "design", "go-blis" } do
      for _, cluster in ipairs { { instances = 3 },
        { instances = 4, prefill_instances = 2, decode_instances = 2 } } do
        local fast = run { cluster = cluster, profile = profile }
        local changed = { engine = "stepwise" }
        for key, value in pairs(cluster) do changed[key] = value end
        local stepwise = run { cluster = changed, profile = profile }
        assert.is_true(fast.request_hit_rate > 0.5)
        assert.equal(stepwise.request_hit_rate, fast.request_hit_rate)
        for i, instance in ipairs(fast.instances) do
          assert.equal(stepwise.instances[i].busy_us, instance.busy_us)
          assert.is_true(instance.busy_us >= 0 and instance.busy_us <= fast.duration_us)
        end
        assert.equal(fast.request_hit_rate,
          run({ cluster = cluster, profile = profile, keep_records = false }).request_hit_rate)
      end
    end
  end)

  it("are in files of results", function()
    local result, path = run(), os.tmpname()
    result:save(path)
    local loaded = blis.load_result(path)
    os.remove(path)
    assert.equal(result.request_hit_rate, loaded.request_hit_rate)
    assert.equal(result.requests[60].had_hit, loaded.requests[60].had_hit)
    assert.equal(result.request_hit_rate, loaded:window(0).request_hit_rate)
  end)
end)

describe("what a run costs", function()
  it("has the time in which GPUs compute, and the price of all tokens", function()
    local result = blis.run(small.experiment {
      cluster = { instances = 3, tp = 2 },
      workload = { rate = 1, requests = 6, prompt_tokens = 100, output_tokens = 10 },
    })
    local cost, busy_us = result.cost, 0
    for _, instance in ipairs(result.instances) do busy_us = busy_us + instance.busy_us end
    assert.near(busy_us / 1e6 * 2, cost.busy_gpu_seconds, 1e-9)
    assert.near(cost.busy_gpu_seconds / 6, cost.gpu_seconds_per_request, 1e-9)
    assert.near(cost.usd / 660 * 1000, cost.usd_per_thousand_tokens, 1e-12)
    -- At one request a second, GPUs are idle most of the time.
    assert.is_true(cost.busy_gpu_seconds < 0.2 * cost.gpu_hours * 3600)
  end)

  it("counts the GPUs of each group", function()
    local result = blis.run(small.experiment {
      cluster = { groups = { { instances = 1, tp = 1 }, { instances = 2, tp = 4 } } },
    })
    local seconds = 0
    for i, instance in ipairs(result.instances) do
      assert.equal(i == 1 and 1 or 2, instance.group)
      seconds = seconds + instance.busy_us / 1e6 * (i == 1 and 1 or 4)
    end
    assert.near(seconds, result.cost.busy_gpu_seconds, 1e-9)
  end)
end)

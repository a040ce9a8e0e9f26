-- Autoscalers that may have no instance at all, and what brings one back.
local blis = require "blis"

local seconds = blis.seconds

--- 40 requests, a pause of an hour, and 40 more.
local function bursts()
  local n = 0
  return function()
    n = n + 1
    if n > 80 then return nil end
    local start_us = n <= 40 and 0 or seconds(4000)
    return { arrival_us = start_us + n * 100000, prompt_tokens = 200, output_tokens = 100 }
  end
end

--- The decision that brought one back, and the run.
local function woken(autoscaler, more)
  local scaling = { min_replicas = 0, loading_delay_us = seconds(20) }
  for key, value in pairs(more or {}) do scaling[key] = value end
  local r = blis.run { cluster = { model = "qwen3-14b", tp = 1, instances = 1 },
    horizon_us = seconds(5000), workload = { generator = bursts() }, autoscaler = autoscaler,
    scaling = scaling }
  for _, event in ipairs(r.scaling.events) do
    if event.from == 0 and event.time_us > seconds(3900) then return event, r end
  end
  return nil, r
end

-- What sees instances alone: without any it sees nothing.
local blind = {
  { "threshold", cooldown_seconds = 5, scale_down_threshold = 0.5 },
  { "target-utilization", cooldown_seconds = 5 },
  { "queue-depth", cooldown_seconds = 5 },
  { "keda", metrics = { queue_depth = 2 }, cooldown_seconds = 30 },
  { "keda", metrics = { requests_running = 2 }, cooldown_seconds = 30 },
  { "hpa", metrics = { requests_running = 5 }, metric_type = "average-value" },
  { "hpa", metrics = { kv_utilization = 0.8 } },
}

local seeing = {
  { "hpa" },
  { "keda", metrics = { gateway_queue_size = 2 }, cooldown_seconds = 30 },
  { "llm-d.queue", cooldown_seconds = 30 },
  { "llm-d.guard", cooldown_seconds = 30 },
  { "llm-d.token-aware", cooldown_seconds = 30 },
  { "ray-serve", downscale_delay_seconds = 60 },
  { "knative" },
  { "oracle" },
}

describe("scale to zero", function()
  it("is no way of no return, though an autoscaler sees nothing of requests that wait", function()
    for _, autoscaler in ipairs(blind) do
      local event, r = woken(autoscaler)
      assert.equal(80, r.completed, autoscaler[1])
      assert.same({ 1, "requests wait at the gateway" }, { event.to, event.reason })
      assert.is_true(r.scaling.started < 12, autoscaler[1]) -- and it is not taken away at once
    end
  end)

  it("ends as they say where they see these requests", function()
    for _, autoscaler in ipairs(seeing) do
      local event, r = woken(autoscaler)
      assert.equal(80, r.completed, autoscaler[1])
      assert.is_true(event.to >= 1)
      assert.not_equal("requests wait at the gateway", event.reason)
    end
  end)

  it("ends without waiting for the interval with a trigger", function()
    local event = woken({ "threshold", cooldown_seconds = 5, scale_down_threshold = 0.5,
      interval_seconds = 100 }, { trigger_queue_depth = 1 })
    assert.equal("queue-depth", event.trigger)
    assert.equal(seconds(4000) + 41 * 100000, event.time_us)
  end)

  it("is what a function of a script says", function()
    local function run(metrics)
      local event, r = woken(blis.autoscaler { name = "off", interval_us = seconds(10),
        metrics = metrics, decide = function(context)
          return context.now_us > seconds(100) and 0 or nil
        end })
      return event and event.reason, r
    end
    local reason, r = run { "gateway_queue_size" } -- it knows what it does
    assert.is_nil(reason)
    assert.is_true(r.completed < 80)
    reason, r = run { "kv_utilization" }
    assert.equal("requests wait at the gateway", reason)
    assert.equal(80, r.completed)
  end)
end)

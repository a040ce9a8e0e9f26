-- What is told of the gateway's queue: the summary, status codes, notes, and names that it does
-- not know.
local blis = require "blis"
local old_defaults = require "spec.support.old_defaults"

local function client(slo_class, tenant, output)
  return {
    id = tenant, rate_fraction = 0.5, slo_class = slo_class, tenant_id = tenant,
    arrival = { process = "poisson" },
    input_distribution = { type = "constant", params = { value = 500 } },
    output_distribution = { type = "constant", params = { value = output } },
  }
end

local burst = {
  clients = { client("critical", "a", 40), client("batch", "b", 60) },
  aggregate_rate = 100, num_requests = 300, version = "2", seed = 7,
}

-- Two tenants of one class.
local alike = { clients = { client("batch", "a", 40), client("batch", "b", 60) },
  aggregate_rate = 100, num_requests = 300, version = "2", seed = 7 }

local function run(queue, more)
  local experiment = {
    cluster = { model = "qwen3-14b", hardware = "H100" }, workload = burst, queue = queue,
  }
  for key, value in pairs(more or {}) do experiment[key] = value end
  return blis.run(experiment)
end

local function failure(queue, more)
  local ok, problem = pcall(run, queue, more)
  assert.is_false(ok)
  return tostring(problem)
end

local function line_of(result, title)
  for line in tostring(result):gmatch "[^\n]+" do
    local rest = line:match("^  " .. title .. "%s+(.*)$")
    if rest then return rest end
  end
end

local full_at_8 = { "concurrency", max_concurrency = 8 }

describe("what is told of the gateway's queue", function()
  it("is every end that there was, and none that was not", function()
    local calm = run { saturation = "never" }
    assert.matches("^300 dispatched, at most 1 at once, mean wait %S+ ms$",
      line_of(calm, "queue"))
    local late = run({ saturation = full_at_8, eviction = true, ttl_us = 1000000,
      max_requests = 30 }, { horizon_us = 2500000 })
    local said, queue = line_of(late, "queue"), late.queue
    for text, count in pairs { dispatched = queue.dispatched, ["rejected"] = queue.rejected,
      ["waited too long"] = queue.expired, evicted = queue.evicted,
      ["waiting at the end"] = queue.waiting, ["with status 429"] = queue.status_429 } do
      assert.is_true(count > 0, text)
      assert.is_truthy((", " .. said .. ","):find((", %d %s,"):format(count, text), 1, true), text)
    end
    assert.is_nil(said:find "503")
    assert.is_nil(said:find "shed")
  end)

  it("is the wait of each class and tenant beside their other times", function()
    local result = run { saturation = full_at_8, ttl_us = 0 }
    local text = tostring(result)
    assert.matches("SLO class [^\n]+ E2E mean +p99 +gateway mean +p99 %(ms%)\n", text)
    assert.matches("tenant [^\n]+ gateway mean +p99 %(ms%)\n", text)
    local waits = result.by_slo_class.batch.gateway_wait_ms
    local cells = {}
    for cell in text:match("\n  (batch [^\n]+)"):gmatch "%S+" do cells[#cells + 1] = cell end
    assert.equal(11, #cells)
    assert.equal(("%.1f"):format(waits.mean), (cells[10]:gsub(",", "")))
    assert.equal(("%.1f"):format(waits.p99), (cells[11]:gsub(",", "")))
    assert.not_matches("gateway", tostring(run(nil)))
  end)

  it("is a dash where nobody of a class left the queue", function()
    local result = run({ saturation = function() return 2 end, ttl_us = 1000000 })
    assert.equal(300, result.queue.expired)
    assert.matches("\n  batch [^\n]+ %- +%-\n", tostring(result))
  end)

  it("is status 429 for admission policies of llm-d", function()
    for name, admission in pairs {
      ["gaie-legacy"] = { "gaie-legacy", qd_threshold = 1 },
      probabilistic = { "probabilistic", queue_depth_threshold = 1 },
      ["latency-slo"] = { "latency-slo", prefill_tokens_per_s = 1 },
    } do
      local n = 0
      local result = run(nil, { defaults = old_defaults.version, admission = admission,
        workload = function()
        n = n + 1
        return n <= 200 and { arrival_us = n * 1000, prompt_tokens = 3000, output_tokens = 20,
          slo_class = "batch", slo_target_us = 1000 } or nil
      end })
      assert.is_true(result.rejected > 0, name)
      for _, request in ipairs(result.requests) do
        if request.state == "rejected" then
          assert.equal(name .. ":", request.reason:match "^%S+")
          assert.equal(429, request.status_code, name)
        end
      end
    end
  end)

  it("is a note where several models stand behind one gate", function()
    local function notes(second, profile)
      local function group(model) return { model = model, hardware = "H100", instances = 1 } end
      return blis.simulation({ queue = {}, workload = burst, profile = profile,
        cluster = { groups = { group "qwen3-14b", group(second) } } }):run().setup.notes
    end
    assert.matches("one gateway queue serves 2 models", notes "llama-3.1-8b-instruct")
    assert.not_matches("gate", notes "qwen3-14b")
    assert.not_matches("gate", notes("llama-3.1-8b-instruct", "go-blis"))
  end)

  it("is the nearest name when a function asks for a field that there is not", function()
    assert.matches("an instance at the gate has no field 'in_fligth'; did you mean 'in_flight'%?",
      failure { saturation = function(instances) return instances[1].in_fligth end })
    assert.matches("a band of the queue has no field 'length'; 'blis help Band'",
      failure { band_selection = function(bands) return bands[1].length end })
    assert.matches("a flow of the queue has no field 'tennant'; did you mean 'tenant'%?", failure({
      saturation = full_at_8, fairness = function(flows) return flows[1].tennant end,
    }, { workload = alike }))
    local seen = {}
    run { saturation = function(instances)
      for name in pairs(instances[1]) do seen[name] = true end
      return 0
    end }
    assert.same({ queue_depth = true, kv_utilization = true, in_flight = true,
      in_flight_tokens = true, age_us = true }, seen)
  end)

  it("is an error when ceilings would keep everybody in", function()
    assert.matches("max_ceiling: invalid value 0%S*", failure {
      usage_limit = { "priority-holdback", min_ceiling = 0, max_ceiling = 0 } })
    assert.matches("min_ceiling 0.9 is above max_ceiling 0.5", failure {
      usage_limit = { "priority-holdback", min_ceiling = 0.9, max_ceiling = 0.5 } })
  end)
end)

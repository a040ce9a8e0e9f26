--- Regions: the path of requests, what clients measure, the choice of a region, and egress.

local blis = require "blis"

--- Groups with one region each: { "us", 4, "eu", 2 }.
local function groups(list)
  local made = {}
  for i = 1, #list, 2 do made[#made + 1] = { region = list[i], instances = list[i + 1] } end
  return made
end

local function cluster(list, more)
  local made = { model = "qwen/qwen3-14b", hardware = "H100", latency_model = "calibrated",
    max_num_batched_tokens = 8192, max_num_seqs = 256, kv_blocks = 15909, frontend = "none",
    groups = groups(list) }
  for key, value in pairs(more or {}) do made[key] = value end
  return made
end

local traffic = { rate = 20, requests = 300, prompt_tokens = 400, output_tokens = 20 }

local function run(regions, more)
  local spec = { seed = 1, workload = traffic, regions = regions }
  for key, value in pairs(more or {}) do spec[key] = value end
  spec.cluster = spec.cluster or cluster { "us", 2, "eu", 2 }
  return blis.run(spec)
end

local rtt_ms = { us = { eu = 90 } }

local function says(pattern, regions, more)
  local ok, message = pcall(run, regions, more)
  assert.is_false(ok)
  assert.truthy(tostring(message):find(pattern, 1, true), tostring(message))
end

local function to(name)
  return function(_, regions)
    for _, one in ipairs(regions) do
      if one.name == name then return one end
    end
  end
end

--- Clients in three regions, by number of the request.
local function thirds(request) return ({ "us", "eu", "asia" })[request.prompt_tokens % 3 + 1] end

local random_traffic = { rate = 60, requests = 400, output_tokens = 20,
  prompt = { "gaussian", mean = 400, std_dev = 300, min = 1, max = 900 } }

describe("regions", function()
  it("change nothing with one region", function()
    local plain = cluster { "us", 4 }
    plain.groups[1].region = nil
    local one = run({ rtt_ms = {}, default_origin = "us" }, { cluster = cluster { "us", 4 } })
    local none = run(nil, { cluster = plain })
    assert.equal(none.hash, one.hash)
    assert.is_nil(rawget(none, "regions"))
    assert.same(none.ttft_ms.mean, one.ttft_ms.mean)
    assert.equal(0, one.regions.egress_gb)
  end)

  -- An idle instance, a prompt of 6,500 tokens without cached tokens in the client's region, or of
  -- which 6,000 are cached in the other region.
  it("compare a cold region nearby with a warm one far away", function()
    local function time(new, from, more)
      local regions = { rtt_ms = { us = { eu = 150 } }, default_origin = from, routing = to "us" }
      for key, value in pairs(more or {}) do regions[key] = value end
      local r = run(regions, { workload = { rate = 1, requests = 1, prompt_tokens = new,
        output_tokens = 100 } })
      return r.regions.client_ttft_ms.mean, r.ttft_ms.mean, r.regions.client_e2e_ms.mean,
        r.e2e_ms.mean
    end
    local cold, cold_ttft = time(6500, "us")
    assert.equal(cold, cold_ttft)
    local warm, warm_ttft, warm_e2e, e2e = time(500, "eu")
    assert.near(150, warm - warm_ttft, 1e-9)
    assert.near(150, warm_e2e - e2e, 1e-9)
    assert.near(27, warm_ttft, 0.1)
    assert.near(450, time(500, "eu", { handshakes = 2 }) - warm_ttft, 1e-9)
    assert.is_true(warm < cold)
  end)

  it("bill the sender of data between regions", function()
    local answer = { rate = 1, requests = 1, prompt_tokens = 500, output_tokens = 100 }
    local r = run({ rtt_ms = rtt_ms, default_origin = "eu", routing = to "us",
      egress_usd_per_gb = { us = 0.02, eu = 100 } }, { workload = answer })
    assert.near(20e3 / 1e9, r.regions.egress_gb, 1e-15) -- 100 tokens of 200 bytes
    assert.near(4e-7, r.regions.egress_usd, 1e-15)
    assert.equal(r.regions.egress_gb, r.regions.regions[1].egress_gb)
    assert.equal(0, r.regions.regions[2].egress_gb)
    -- Full at once: forwarded with 4 bytes per token, and the response takes the same way back.
    local hop = run({ rtt_ms = rtt_ms, default_origin = "eu", spill_above = 0.5, max_hops = 1,
      egress_usd_per_gb = 1 }, { workload = { rate = 1000, requests = 3, prompt_tokens = 500,
        output_tokens = 10 }, cluster = cluster { "eu", 1, "us", 8 } })
    local _, eu = hop.regions, hop.regions.regions[1]
    assert.equal(1, eu.served)
    assert.near(0, eu.egress_gb, 1e-15) -- the global choice avoids the full region
    assert.near(2 * 10 * 200 / 1e9, hop.regions.regions[2].egress_gb, 1e-15)
  end)

  it("forward requests that arrive at a full gateway", function()
    -- All choices are made before the first request has an instance; the function ignores load.
    local r = run({ rtt_ms = rtt_ms, default_origin = "eu", spill_above = 1, max_hops = 1,
      routing = function(_, regions)
        return #regions == 2 and "eu" or regions[1]
      end, egress_usd_per_gb = 1 }, {
      workload = { rate = 100000, requests = 4, prompt_tokens = 500, output_tokens = 10 },
      cluster = cluster { "eu", 1, "us", 8 } })
    local eu, us = r.regions.regions[1], r.regions.regions[2]
    assert.equal(r.regions.forwarded, eu.forwarded)
    assert.equal(3, eu.forwarded)
    assert.equal(3, us.served)
    assert.near(3 * 500 * 4 / 1e9, eu.egress_gb, 1e-15)
    assert.near(3 * 10 * 200 / 1e9, us.egress_gb, 1e-15)
    for _, request in ipairs(r.requests) do
      assert.equal(90000 * request.forwards, request.client_ttft_us - request.ttft_us
        + 45000 * request.forwards)
    end
  end)

  it("choose the nearest, the cheapest, and by weight", function()
    local three = { origin = thirds,
      rtt_ms = { us = { eu = 90, asia = 150 }, eu = { asia = 200 } } }
    local list = cluster { "us", 2, "eu", 2, "asia", 2 }
    list.groups[3].cost_per_hour = 1
    local function served(more)
      local regions = { egress_usd_per_gb = 0.01 }
      for key, value in pairs(three) do regions[key] = value end
      for key, value in pairs(more) do regions[key] = value end
      local r = run(regions, { cluster = list, workload = random_traffic })
      local counts, sent = {}, {}
      for i, one in ipairs(r.regions.regions) do counts[i], sent[i] = one.served, one.sent end
      return counts, sent, r
    end
    local near, sent, r = served {}
    assert.same(sent, near)
    assert.equal(0, r.regions.egress_gb)
    assert.equal(r.ttft_ms.mean, r.regions.client_ttft_ms.mean)
    assert.same({ 0, 0, 400 }, (served { routing = "least-cost" }))
    assert.same({ 200, 100, 100 }, (served { routing = "weighted", weights = { us = 2 } }))
    local spilled = served { routing = "least-cost", spill_above = 8 }
    assert.is_true(spilled[3] > 50 and spilled[3] < 400)
    local resident = served { routing = "least-cost", residency = { eu = { "eu", "us" } } }
    assert.equal(sent[1] + sent[3], resident[3])
    assert.equal(sent[2], resident[1] + resident[2])
  end)

  it("return to the region of a prefix", function()
    local function hit_rate(rule)
      return run({ rtt_ms = rtt_ms, routing = rule, origin = function(request)
        return request.prompt_tokens % 2 == 0 and "us" or "eu"
      end }, { workload = { rate = 20, requests = 300, output_tokens = 10,
        prompt = { "gaussian", mean = 25, std_dev = 20, min = 1, max = 50 },
        prefixes = { groups = 6, tokens = 3000 } } }).cache_hit_rate_overall
    end
    assert.is_true(hit_rate "prefix" > hit_rate "nearest")
  end)

  it("keep requests, counts, and times consistent in both engines", function()
    local rng = blis.rng(7)
    for case = 1, 6 do
      local regions = { origin = thirds, handshakes = rng:integer(0, 2),
        rtt_ms = { us = { eu = rng:integer(0, 200), asia = rng:integer(0, 300) },
          eu = { asia = rng:integer(0, 300) } },
        routing = ({ "nearest", "least-cost", "weighted", "prefix" })[rng:integer(1, 4)],
        spill_above = rng:integer(0, 1) * rng:integer(1, 10), max_hops = rng:integer(0, 3),
        residency = rng:integer(0, 1) == 1 and { eu = { "eu" } } or nil }
      local list = cluster { "us", rng:integer(1, 3), "eu", 1, "asia", rng:integer(1, 2) }
      local faults = rng:integer(0, 1) == 1 and { { kind = "crash", instance = "instance_0",
        at = blis.seconds(1), recover_after = blis.seconds(2) } } or nil
      local r = run(regions, { cluster = list, workload = random_traffic, faults = faults })
      list.engine = "stepwise"
      local step = run(regions, { cluster = list, workload = random_traffic, faults = faults })
      assert.equal(r.hash, step.hash, "case " .. case)
      assert.same(r.regions, step.regions)
      local sent, entered, served = 0, 0, 0
      for _, one in ipairs(r.regions.regions) do
        sent, entered, served = sent + one.sent, entered + one.entered, served + one.served
      end
      assert.same({ 400, 400, r.completed }, { sent, entered, served })
      for _, request in ipairs(r.requests) do
        assert.is_true(request.forwards <= regions.max_hops)
        if regions.residency and request.client_region == "eu" then
          assert.equal("eu", request.region)
        end
        if request.client_e2e_us then
          assert.equal(request.client_e2e_us - request.client_ttft_us,
            request.e2e_us - request.ttft_us)
          assert.is_true(request.client_ttft_us >= request.ttft_us)
        end
      end
    end
  end)

  it("leave a region that is down, once clients see it", function()
    local function rejected(more)
      local regions = { rtt_ms = rtt_ms, default_origin = "us", max_hops = 0,
        health_interval_us = blis.seconds(1), unhealthy_after = 3 }
      for key, value in pairs(more) do regions[key] = value end
      local r = run(regions, { cluster = cluster { "us", 1, "eu", 4 },
        workload = { rate = 10, requests = 200, prompt_tokens = 50, output_tokens = 2,
          arrival = "constant" },
        faults = { { kind = "crash", instance = "instance_0", at = blis.milliseconds(5500) } } })
      return r.rejected, r
    end
    -- Down at 5.5 s; checks fail at 6, 7, and 8 s.
    local count, r = rejected {}
    assert.near(25, count, 1)
    for _, request in ipairs(r.requests) do
      if request.state == "rejected" then
        assert.equal("no-instance", request.reason)
        assert.is_true(request.arrival_us >= 5500000 and request.arrival_us < 8000000)
      end
    end
    assert.near(45, rejected { dns_ttl_us = blis.seconds(2) }, 1)
    assert.equal(0, rejected { health_interval_us = 0 })
    assert.equal(0, rejected { max_hops = 1 })
    local resident, other = rejected { max_hops = 1, residency = { us = { "us" } } }
    assert.is_true(resident > 100)
    assert.equal("no-resident", other.requests[200].reason)
  end)

  it("delay the next request of a session by the way back", function()
    local sessions = { rate = 1, requests = 20,
      sessions = { max_rounds = 2, think_time_us = 1000000 },
      prompt_tokens = 50, output_tokens = 5 }
    local r = run({ rtt_ms = rtt_ms, default_origin = "eu", routing = to "us" },
      { workload = sessions })
    local first, turns = {}, 0
    for _, request in ipairs(r.requests) do
      if request.round_index == 0 then first[request.session] = request end
    end
    for _, request in ipairs(r.requests) do
      local before = request.round_index == 1 and first[request.session]
      if before then
        turns = turns + 1
        assert.equal(before.arrival_us + before.e2e_us + 45000 + 1000000 + 45000,
          request.arrival_us)
      end
    end
    assert.is_true(turns >= 5)
  end)

  it("are reported", function()
    local r = run({ rtt_ms = rtt_ms, default_origin = "eu", routing = to "us" })
    assert.truthy(tostring(r):find("regions +2 regions, client TTFT mean"), tostring(r))
    assert.equal("us", r.requests[1].region)
    assert.equal("eu", r.requests[1].client_region)
    assert.equal(0, r.requests[1].forwards)
  end)

  it("explain wrong options", function()
    local base = { rtt_ms = rtt_ms, default_origin = "us" }
    local function with(more)
      local made = {}
      for key, value in pairs(base) do made[key] = value end
      for key, value in pairs(more) do made[key] = value end
      return made
    end
    says("regions.rtt_ms is missing", {})
    says("regions.rtt_ms: no round-trip time for us and eu", { rtt_ms = {} })
    says("regions.rtt_ms.us.eu: invalid value -1", { rtt_ms = { us = { eu = -1 } } })
    says("us to eu and eu to us differ", { rtt_ms = { us = { eu = 1 }, eu = { us = 2 } } })
    says("regions: requires cluster.groups", base, { cluster = { instances = 2 } })
    says("cluster.groups[1].region: missing", base, { cluster = { groups = { {} } } })
    says("regions.residency.eu[1]: unknown region 'eo'", with { residency = { eu = { "eo" } } })
    says("none of these regions has instances", { rtt_ms = { us = { eu = 1, mars = 2 },
      eu = { mars = 2 } }, residency = { us = { "mars" } } })
    says("regions.weights: has no effect", with { weights = { us = 1 } })
    says("regions.routing: invalid value 'far'", with { routing = "far" })
    says("regions.origin: invalid value 'session'", with { origin = "session" })
    says("its tenant '' is no region", { rtt_ms = rtt_ms })
    says("it returned 'mars', which is no region", with { origin = function() return "mars" end })
    says("it returned 'mars', which is not among", with { routing = function() return "mars" end })
    says("it returned nil", with { routing = function() end })
    says("profile go-blis has one region", base, { profile = "go-blis" })
    says("regions: not available with pools", base, { cluster = { groups = {
      { region = "us", role = "prefill" }, { region = "eu", role = "decode" } } } })
  end)
end)

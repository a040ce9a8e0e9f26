-- Timelines of runs: what viewers take for granted, and that they tell what records tell.
local blis = require "blis"
local check = require "spec.support.timeline"
local files = require "spec.support.files"
local lanes = require "blis.timeline.lanes"

local function read(result, options, ending)
  local path = os.tmpname()
  os.remove(path)
  path = path .. (ending or ".json")
  result:timeline(path, options)
  local text = files.read(path)
  os.remove(path)
  return check.read(text)
end

local function experiment(more)
  local spec = {
    cluster = { model = "qwen3-14b", hardware = "H100", instances = 3, max_num_seqs = 8 },
    workload = { rate = 60, requests = 300, prompt = 300, output = 60 }, seed = 3,
  }
  for key, value in pairs(more or {}) do spec[key] = value end
  return spec
end

--- Slices of a name, by the request that they are of.
local function slices(events, name)
  local by_request, count = {}, 0
  for _, event in ipairs(events) do
    if event.ph == "X" and event.name == name then
      by_request[event.args.req], count = event, count + 1
    end
  end
  return by_request, count
end

describe("lanes", function()
  it("are the lowest free ones, and as many as there are things at once", function()
    local free, taken = lanes.new(), {}
    for i, one in ipairs { { 0, 10 }, { 2, 5 }, { 5, 9 }, { 10, 12 } } do
      taken[i] = free:take(one[1], one[2])
    end
    assert.same({ 1, 2, 2, 1 }, taken)
    assert.equal(2, free.count)
  end)

  it("do not overlap, at random", function()
    local rng = blis.rng(3, "lanes")
    local free, ends, now_us, most, live = lanes.new(), {}, 0, 0, {}
    for _ = 1, 3000 do
      now_us = now_us + rng:integer(0, 20)
      local end_us = now_us + rng:integer(1, 900)
      local lane = free:take(now_us, end_us)
      assert.is_true((ends[lane] or 0) <= now_us)
      for i = 1, lane - 1 do assert.is_true(ends[i] > now_us) end
      ends[lane], live[#live + 1] = end_us, end_us
      local count = 0
      for i = #live, 1, -1 do
        if live[i] <= now_us then table.remove(live, i) else count = count + 1 end
      end
      most = math.max(most, count)
    end
    assert.equal(most, free.count)
  end)
end)

describe("a timeline", function()
  it("has the stages of every request, to the microsecond", function()
    local result = blis.run(experiment())
    local head, events = read(result)
    check.check(events)
    assert.equal(300, head.otherData.drawn)
    assert.equal(result.hash, head.otherData.hash)
    local queued, prefill, decode = slices(events, "queued"), slices(events, "prefill"),
      slices(events, "decode")
    for _, record in ipairs(result.requests) do
      local admitted_us = record.arrival_us + record.scheduling_delay_us
      local wait = queued[record.id]
      assert.equal(record.scheduling_delay_us, wait and wait.dur or 0)
      assert.equal(admitted_us, prefill[record.id].ts)
      assert.equal(record.arrival_us + record.ttft_us,
        prefill[record.id].ts + prefill[record.id].dur)
      assert.equal(record.arrival_us + record.ttft_us, decode[record.id].ts)
      assert.equal(record.end_us, decode[record.id].ts + decode[record.id].dur)
      assert.equal(10 + math.tointeger(record.instance:match "%d+$"), decode[record.id].pid)
    end
  end)

  it("shows the gateway's queue, with arrows to the instances", function()
    local result = blis.run(experiment { series_interval_us = 100000,
      queue = { saturation = { "concurrency", max_concurrency = 8 }, ttl_us = 2000000 } })
    local _, events = read(result)
    local counts = check.check(events)
    local waiting, count = slices(events, "waiting")
    assert.is_true(count > 100 and result.queue.expired > 10)
    assert.equal(result.queue.dispatched, counts.dispatch / 2)
    for _, record in ipairs(result.requests) do
      local slice = waiting[record.id]
      local waited_us = record.gateway_wait_us or record.end_us - record.arrival_us
      assert.equal(waited_us, slice and slice.dur or 0)
    end
  end)

  it("shows hand-offs, transfers, faults, sessions and scaling", function()
    local apart = blis.run(experiment { cluster = { model = "qwen3-14b", hardware = "H100",
      instances = 4, prefill_instances = 2, decode_instances = 2 } })
    local counts = check.check((select(2, read(apart))))
    assert.equal(600, counts.handoff)
    assert.equal(600, counts.transfer)
    local faulty = blis.run(experiment { faults = { { kind = "crash", at = 1000000,
      instance = "instance_1", recover_after = 500000 } } })
    assert.equal(1, check.check((select(2, read(faulty)))).fault)
    local scaled = blis.run(experiment { autoscaler = { "queue-depth" },
      scaling = { interval_us = 200000, min_replicas = 1, max_replicas = 6 } })
    counts = check.check((select(2, read(scaled))))
    assert.equal(#scaled.scaling.events, counts.scaling or 0)
    assert.is_true(counts.scaling > 0)
    local chat = blis.run(experiment { workload = { version = "2", seed = 4, aggregate_rate = 5,
      num_requests = 60, clients = { { id = "a", tenant_id = "a", rate_fraction = 1,
        slo_class = "standard", arrival = { process = "poisson" },
        reasoning = { reason_ratio_distribution = { type = "constant", params = { value = 0 } },
          multi_turn = { max_rounds = 3, think_time_us = 100000, context_growth = "accumulate" } },
        input_distribution = { type = "constant", params = { value = 100 } },
        output_distribution = { type = "constant", params = { value = 20 } } } } } })
    counts = check.check((select(2, read(chat))))
    assert.is_true(counts.session > 20)
  end)

  it("is whole where requests are rejected, lost, timed out or unfinished", function()
    local rng = blis.rng(5, "timeline")
    for seed = 1, 8 do
      local result = blis.run(experiment { seed = seed,
        admission = seed % 2 == 0 and { "token-bucket", refill_rate = 4000, bucket_size = 4000 }
          or nil,
        queue = seed % 3 == 0 and { max_requests = 5 } or nil, horizon_us = rng:integer(1000000,
          4000000), faults = { { kind = "crash", at = rng:integer(0, 2000000),
          instance = "instance_0" } } })
      local head, events = read(result)
      check.check(events)
      assert.equal(#result.requests, head.otherData.drawn)
    end
  end)

  it("can be a window, and every so-manieth request", function()
    local result = blis.run(experiment())
    local head, events = read(result, { from_us = 1000000, to_us = 2000000, every = 3 })
    check.check(events)
    local wanted = 0
    for _, record in ipairs(result.requests) do
      if record.arrival_us <= 2000000 and record.end_us >= 1000000 then wanted = wanted + 1 end
    end
    assert.equal((wanted + 2) // 3, head.otherData.drawn)
    assert.is_true(head.otherData.drawn > 10)
  end)

  it("refuses what is no option", function()
    local result = blis.run(experiment { workload = { rate = 10, requests = 5 } })
    for _, case in ipairs {
      { { evry = 2 }, "evry" }, { { every = 0 }, "timeline.every: 0" },
      { { from_us = 5, to_us = 3 }, "timeline.to_us: 3 is before from_us, 5" },
      { "x", "timeline: 'x' is not allowed" }, { { from_us = -1 }, "timeline.from_us: -1" },
    } do
      local ok, problem = pcall(result.timeline, result, "/dev/null", case[1])
      assert.is_false(ok)
      assert.matches(case[2], tostring(problem), 1, true)
    end
    assert.is_false(pcall(result.timeline, result, "/no/such/folder/x.json"))
  end)

  it("keeps names apart from JSON", function()
    local is_sent = false
    local result = blis.run(experiment { workload = function()
      if is_sent then return nil end
      is_sent = true
      return { arrival_us = 0, prompt_tokens = 9, output_tokens = 2, tenant = 'a"}],\n<b>\\',
        slo_class = "batch" }
    end })
    local _, events = read(result)
    assert.equal('a"}],\n<b>\\', slices(events, "request_0").request_0.args.tenant)
  end)
end)

describe("blis run --timeline #host", function()
  local program = require "spec.support.program"
  local flags = { "run", "--model", "qwen/qwen3-14b", "--hardware", "H100", "--rate", "40",
    "--num-requests" }

  it("writes a packed one, the same each time", function()
    local folder = os.tmpname()
    os.remove(folder)
    local path = folder .. ".json.gz"
    local function written()
      local all = table.move(flags, 1, #flags, 1, {})
      table.move({ "200", "--timeline", path }, 1, 3, #all + 1, all)
      assert.equal(0, program.run(table.unpack(all)).status)
      local text = files.read(path)
      os.remove(path)
      return text
    end
    local packed = written()
    assert.equal("\31\139", packed:sub(1, 2))
    assert.equal(packed, written())
  end)

  it("says which flags need it", function()
    local all = table.move(flags, 1, #flags, 1, {})
    table.move({ "20", "--timeline-every", "2" }, 1, 3, #all + 1, all)
    local outcome = program.run(table.unpack(all))
    assert.not_equal(0, outcome.status)
    assert.matches("--timeline-every needs --timeline", outcome.err, 1, true)
  end)
end)

--- Data-parallel ranks: how many targets there are, passes at a barrier, prompts every so many
--- passes, uneven experts, and what is refused.
local blis = require "blis"
local report = require "blis.results.report"
local setup = require "blis.results.setup"

--- A decode step takes 20 ms, one with a prompt 120 ms.
local function model()
  return blis.latency_model { name = "two speeds", step_time = function(batch)
    for _, item in ipairs(batch) do
      if item.progress_tokens < item.prompt_tokens then return 120000 end
    end
    return 20000
  end }
end

local function run(cluster, requests, faults)
  local all = { kv_blocks = 1000, async_scheduling = false, latency_model = model() }
  for key, value in pairs(cluster) do all[key] = value end
  local i = 0
  return blis.run { cluster = all, routing = "round-robin", faults = faults,
    workload = { requests = #requests,
    generator = function()
      i = i + 1
      local r = requests[i]
      return r and { arrival_us = r[1], prompt_tokens = r[2] or 16, output_tokens = r[3] or 4,
        deadline_us = r.deadline_us }
    end } }
end

local function says(pattern, ranks, more)
  local cluster = { ranks = ranks }
  for key, value in pairs(more or {}) do cluster[key] = value end
  local ok, message = pcall(run, cluster, { { 0 } })
  assert.is_false(ok)
  assert.truthy(tostring(message):find(pattern, 1, true), tostring(message))
end

describe("data-parallel ranks", function()
  it("are targets: instances times ranks", function()
    local requests = {}
    for i = 1, 8 do requests[i] = { i * 1000000 } end
    local r = run({ instances = 2, ranks = 4 }, requests)
    assert.equal(8, #r.instances)
    for i, request in ipairs(r.requests) do
      assert.equal("instance_" .. i - 1, request.instance)
    end
    r = run({ groups = { { instances = 1, ranks = 3 }, { instances = 2 } } }, { { 0 } })
    assert.equal(5, #r.instances)
    assert.equal(1, r.instances[3].group)
    assert.equal(2, r.instances[4].group)
    local places = {}
    for i, one in ipairs(r.instances) do places[i] = one.rank_group .. "." .. one.rank end
    assert.same({ "0.0", "0.1", "0.2", "1.0", "2.0" }, places)
    assert.equal(0, r.ranks.passes)
  end)

  --- Mean step of rank 0: its tokens follow each other, ten per request, while the first requests
  --- of the ranks have these numbers of them.
  local function mean_step_ms(ranks, first, more)
    local requests, each = {}, 8
    for n = 1, each do
      for rank = 1, 4 do requests[#requests + 1] = { 0, 16, n == 1 and first[rank] or 10 } end
    end
    local cluster = { ranks = ranks, instances = ranks and 1 or 4, max_num_seqs = 1 }
    for key, value in pairs(more or {}) do cluster[key] = value end
    local r = run(cluster, requests)
    local ends = {}
    for _, request in ipairs(r.requests) do
      if request.instance == "instance_0" then ends[#ends + 1] = request.e2e_us end
    end
    table.sort(ends)
    return (ends[5] - ends[4]) / 10000, r
  end
  local apart, together = { 10, 8, 6, 4 }, { 10, 10, 10, 10 }

  it("lose at the barrier what aligned prompts do not", function()
    -- Steps of 20 ms, 120 ms with a prompt, which each rank has in one of 10.
    local alone, r = mean_step_ms(nil, apart)
    assert.equal(30.0, alone)
    local free, free_r = mean_step_ms({ count = 4, barrier = false }, apart)
    assert.equal(30.0, free)
    assert.equal(r.hash, free_r.hash)
    local at_barrier = { count = 4, barrier = true, dummy_us = 0 }
    assert.equal(60.0, (mean_step_ms(at_barrier, apart)))
    local even_ms, even = mean_step_ms(at_barrier, together)
    assert.equal(30.0, even_ms)
    assert.same({ 80, 0.0, 0.0, 1.0, 1.0 }, { even.ranks.passes, even.ranks.barrier_loss,
      even.ranks.dummy_share, even.ranks.running_imbalance, even.ranks.kv_imbalance })
    assert.same({ 80, 30 * 80 / 1e3 }, { even.instances[2].steps,
      even.instances[2].busy_us / 1e6 })
    local aligned = { count = 4, barrier = true, dummy_us = 0, prefill_interval = 10 }
    local by_interval, fast = mean_step_ms(aligned, apart)
    assert.equal(30.0, by_interval)
    assert.equal(fast.hash, select(2, mean_step_ms(aligned, apart, { engine = "stepwise" })).hash)
  end)

  it("are nothing new where there is one of them", function()
    local _, r = mean_step_ms(nil, apart)
    local one = { count = 1, barrier = true }
    assert.equal(r.hash, select(2, mean_step_ms(one, apart, { instances = 4 })).hash)
  end)

  it("begin at the end of a pass, and of those without work", function()
    local ranks = { count = 2, barrier = true, dummy_us = 10000, sync_every = 4 }
    -- Passes end at 120 ms, and without work at 130 and 140; then the fourth ends at 260.
    local r = run({ ranks = ranks }, { { 0, 16, 1 }, { 135000, 16, 1 }, { 265000, 16, 1 } })
    local ttft = {}
    for i, request in ipairs(r.requests) do ttft[i] = request.ttft_us end
    assert.same({ 120000, 125000, 120000 }, ttft)
    -- Five passes of two ranks, and seven times one without work.
    assert.equal(5, r.ranks.passes)
    assert.equal(0.7, r.ranks.dummy_share)
    assert.near(1 - (3 * 130 + 2 * 20) / (3 * 240 + 2 * 20), r.ranks.barrier_loss, 1e-12)
    assert.equal(2.0, r.ranks.running_imbalance)
    assert.equal(380000, r.instances[1].busy_us)
    assert.equal(380000, r.instances[2].busy_us)
    r = run({ ranks = ranks, gpu_watts = 100, gpu_idle_watts = 0 }, { { 0, 16, 1 } })
    assert.near(2 * 0.12 * 100, r.energy.joules_per_request, 1e-9) -- the dummy pass draws, too
    -- The second waits for the pass of the other rank, whose decodes wait for the second.
    r = run({ ranks = ranks }, { { 0, 16, 2 }, { 50000, 16, 1 } })
    assert.equal(240000, r.requests[1].e2e_us)
    assert.equal(190000, r.requests[2].ttft_us)
  end)

  --- The times to first token of requests { arrival_us, prompt, output } at a barrier of two ranks
  --- that take 10 ms for a pass without work.
  local function ttft_of(ranks, requests, faults)
    local all = { count = 2, barrier = true, dummy_us = 10000 }
    for key, value in pairs(ranks) do all[key] = value end
    local r, ttft = run({ ranks = all }, requests, faults), {}
    for i, request in ipairs(r.requests) do ttft[i] = request.ttft_us or false end
    return ttft, r
  end

  it("run passes without work until all know of each other, and not one more", function()
    -- One is left from 120 to 130 ms.
    assert.same({ 120000, 125000 }, ttft_of({ sync_every = 2 }, { { 0, 16, 1 },
      { 125000, 16, 1 } }))
    -- Who comes at the very end of a pass begins there: of one with work, or of one without.
    assert.same({ 120000, 120000 }, ttft_of({ sync_every = 4 }, { { 0, 16, 1 },
      { 120000, 16, 1 } }))
    local ttft, r = ttft_of({ sync_every = 4 }, { { 0, 16, 1 }, { 130000, 16, 1 },
      { 265000, 16, 1 } })
    -- The second begins at 130, as third pass; the fourth ends at 260, where all stop.
    assert.same({ 120000, 120000, 120000 }, ttft)
    assert.equal(5, r.ranks.passes)
    -- Stopped since 140 ms: no pass begins before the request comes, at whatever time.
    assert.same({ 120000, 120000 }, ttft_of({ sync_every = 3 }, { { 0, 16, 1 },
      { 155500, 16, 1 } }))
  end)

  it("count passes for prompts from the first one on that a group runs", function()
    assert.same({ 120000 }, ttft_of({ prefill_interval = 4 }, { { 0, 16, 1 } }))
    -- After three passes the group has stopped: the next one is its first again.
    assert.same({ 120000, 120000 }, ttft_of({ prefill_interval = 2, sync_every = 3 },
      { { 0, 16, 1 }, { 155500, 16, 1 } }))
  end)

  it("wait for a rank without work alone, and for one that may not compute its prompt", function()
    -- Both ranks work: 120 + 20 + 20 ms.
    local _, r = ttft_of({ dummy_us = 50000 }, { { 0, 16, 3 }, { 0, 16, 3 } })
    assert.same({ 160000, 160000 }, { r.requests[1].e2e_us, r.requests[2].e2e_us })
    -- Passes end at 120, 170 and 220 ms, since rank 1 has nothing to compute until then.
    assert.same({ 120000, 210000 }, ttft_of({ dummy_us = 50000, prefill_interval = 3 },
      { { 0, 16, 4 }, { 130000, 16, 1 } }))
  end)

  it("begin anew after a failure, without what was under way or counted", function()
    assert.same({ false, 120000 }, ttft_of({}, { { 0, 16, 1 }, { 45000, 16, 1 } },
      { { kind = "crash", at = 10000, instance = "instance_0", recover_after = 20000 } }))
  end)

  it("draw what passes without work do when these are", function()
    -- The dummy pass from 120 to 130 ms is before the dear hours, of which there are 120 ms.
    local r = run({ ranks = { count = 2, barrier = true, dummy_us = 10000, sync_every = 2 },
      gpu_watts = 100, gpu_idle_watts = 0, carbon_g_per_kwh = { { 0, 0 }, { 130000, 1000 } } },
      { { 0, 16, 1 }, { 5000000, 16, 1 } })
    assert.near(2 * 0.25 * 100 / 2, r.energy.joules_per_request, 1e-9)
    assert.near(2 * 0.12 * 100 / 3.6e6 * 1000, r.energy.carbon_g, 1e-9)
    -- These are nobody's, also of a rank that computes something later.
    for i = 1, 2 do assert.near(0.12 * 100, r.requests[i].energy_j, 1e-9) end
    assert.near(0, r.requests[1].carbon_g, 1e-9)
    assert.near(0.12 * 100 / 3.6e6 * 1000, r.requests[2].carbon_g, 1e-9)
    assert.near(r.energy.carbon_g, r.energy.steps_carbon_g, 1e-9)
  end)

  it("have a request until the step that it is part of has begun, at its deadline", function()
    -- The first one is over as the pass begins that would give its second token; the pass goes on
    -- without it, from 120 to 140 ms, and the next one has a prompt.
    local ttft, r = ttft_of({}, { { 0, 16, 5, deadline_us = 120000 }, { 0, 16, 3 },
      { 125000, 16, 1 } })
    assert.same({ 120000, 120000, 135000 }, ttft)
    assert.same({ "timed_out", 120000 }, { r.requests[1].state, r.requests[1].end_us })
    assert.equal(260000, r.requests[2].e2e_us)
    -- It leaves behind the step's beginning, as without a barrier.
    local alone = run({}, { { 0, 16, 5, deadline_us = 120000 } }).requests[1]
    assert.same({ 1, 20000 }, { alone.itl_count, alone.itl_sum_us })
    assert.same({ 1, 20000 }, { r.requests[1].itl_count, r.requests[1].itl_sum_us })
    assert.same({ 3, 3 }, { r.instances[1].steps, r.instances[2].steps })
    assert.equal(0.0, r.ranks.dummy_share)
  end)

  it("take a decode's step for a rank without work, unless it is given", function()
    local function times(batch) return #batch == 1 and batch[1].progress_tokens < 16 and 7 or 5 end
    local slow = blis.latency_model { name = "slow alone", step_time = function(batch)
      return batch[1].prompt_tokens == 1 and 900 or times(batch)
    end }
    local r = run({ ranks = { count = 2, barrier = true }, latency_model = slow }, { { 0, 16, 1 } })
    assert.equal(900, r.requests[1].ttft_us)
    r = run({ ranks = { count = 2, barrier = true, dummy_us = 0 }, latency_model = slow },
      { { 0, 16, 1 } })
    assert.equal(7, r.requests[1].ttft_us)
  end)

  it("compute prompts in every so many steps of an instance that decodes", function()
    local r = run({ ranks = { count = 1, prefill_interval = 4 } },
      { { 0, 16, 20 }, { 130000, 16, 2 }, { 10000000, 16, 1 } })
    -- 120 ms, then 20 ms each to 180 ms; the fifth step computes the prompt.
    assert.equal(180000 + 120000 - 130000, r.requests[2].ttft_us)
    assert.equal(120000, r.requests[3].ttft_us)
  end)

  it("take longer with uneven experts", function()
    -- 5 ms of attention, 10 ms of experts at the mean.
    local even = blis.latency_model { name = "even", step_time = function() return 15000 end }
    for _, imbalance in ipairs { 1.2, { 120, 80, 100, 100 } } do
      local r = run({ latency_model = even, ranks = { count = 4, barrier = true,
        expert_imbalance = imbalance, expert_share = 10 / 15 } }, { { 0, 16, 1 } })
      assert.equal(17000, r.requests[1].ttft_us)
    end
  end)

  it("share the experts of a model that has some, by default", function()
    local function busy(ranks, more)
      local cluster = { model = "qwen3-30b-a3b", hardware = "H100", tp = 1, ranks = ranks }
      for key, value in pairs(more or {}) do cluster[key] = value end
      local r = blis.run { cluster = cluster, routing = "round-robin", workload = { rate = 1e6,
        requests = 256, prompt_tokens = 64, output_tokens = 50 } }
      return r.ranks.passes > 0, r.itl_ms.mean
    end
    local at_barrier, shared_ms = busy(8)
    local is_aligned, own_ms = busy { count = 8, barrier = false }
    assert.is_true(at_barrier)
    assert.is_false(is_aligned)
    assert.is_true(shared_ms < own_ms) -- a GPU reads an eighth of the experts
    assert.is_false((busy(2, { model = "qwen3-14b" })))
  end)

  it("are echoed as groups, with a line of their own at a barrier alone", function()
    local function said(cluster)
      local r = run(cluster, { { 0 } })
      return setup.lines(r)[1]:match "^.+ of ", report.summary(r)
    end
    local function has_line(text) return text:find "time lost at barriers" ~= nil end
    local size, lines = said { instances = 2, ranks = { count = 4, barrier = false } }
    assert.equal("2 groups of 4 ranks of ", size)
    assert.is_false(has_line(lines))
    size, lines = said { ranks = { count = 2, barrier = true } }
    assert.equal("1 group of 2 ranks of ", size)
    assert.is_true(has_line(lines))
    assert.equal("2 instances of ", (said { instances = 2, ranks = 1 }))
  end)

  it("refuse what cannot be", function()
    says("cluster.ranks: invalid value '4': expected a number of ranks", "4")
    says("cluster.ranks.count", 0)
    says("cluster.ranks.count", { barrier = true })
    says("cluster.ranks.prefill_interval", { count = 2, prefill_interval = 0 })
    says("unknown option 'size'", { count = 2, size = 3 })
    says("dp is 2 and ranks 2", 2, { dp = 2 })
    says("expert_imbalance requires expert_share", { count = 2, expert_imbalance = 1.5 })
    says("expert_share: has no effect", { count = 2, expert_share = 0.5 })
    says("cluster.ranks.expert_imbalance: invalid value 0.5", { count = 2, expert_imbalance = 0.5,
      expert_share = 0.5 })
    says("cluster.ranks.expert_imbalance[2]: invalid value -1", { count = 2,
      expert_imbalance = { 1, -1 }, expert_share = 0.5 })
    for _, loads in ipairs { { 1, 2, 3 }, { 5 }, {} } do
      says(("cluster.ranks.expert_imbalance: invalid list of length %d: expected a number "
        .. "of at least 1, or a list of 2 loads, one per rank"):format(#loads),
        { count = 2, expert_imbalance = loads, expert_share = 0.5 })
    end
    says("all loads are 0", { count = 2, expert_imbalance = { 0, 0 }, expert_share = 0.5 })
    says("are 2000000 targets, expected at most 1000000", 2, { instances = 1000000 })
  end)
end)

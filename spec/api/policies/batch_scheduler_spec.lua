-- Schedulers that make whole batches.
local blis = require "blis"
local old_defaults = require "spec.support.old_defaults"
local small = require "spec.support.small"

local says, message_of = small.says, small.message_of

local function run(scheduler, changes)
  local cluster = { model = "qwen/qwen3-14b", hardware = "H100", instances = 2, kv_blocks = 1500 }
  for key, value in pairs((changes or {}).cluster or {}) do cluster[key] = value end
  return blis.run {
    cluster = cluster, scheduler = scheduler, profile = (changes or {}).profile,
    workload = (changes or {}).workload or { rate = 40, requests = 150, prompt_tokens = 700,
      output_tokens = 30, prefixes = { groups = 3, tokens = 256 } },
  }
end

--- Who runs goes on, and then those that wait, first come, first served.
local function as_usual(context)
  local schedule = {}
  for _, request in ipairs(context.running) do schedule[#schedule + 1] = request end
  for _, request in ipairs(context.waiting) do schedule[#schedule + 1] = request end
  return { schedule = schedule }
end

describe("a scheduler of batches", function()
  it("does what the built-in one does when it plans the same", function()
    for _, profile in ipairs { "design", "go-blis" } do
      local changes = { profile = profile }
      assert.equal(run("fcfs", changes).hash, run({ name = "usual", make_batch = as_usual },
        changes).hash)
    end
  end)

  it("starts afresh in every run, and says what it is", function()
    local scheduler = blis.scheduler { name = "fresh", new = function(context)
      assert.equal(2, context.instances)
      return { make_batch = as_usual }
    end }
    assert.equal("scheduler 'fresh'", tostring(scheduler))
    assert.equal(run("fcfs").hash, run(scheduler).hash)
  end)

  it("sees the queue, the batch, the KV cache and the limits of its instance", function()
    local seen, longest = {}, 0
    local result = run { name = "looks", make_batch = function(context)
      seen[context.instance] = true
      assert.equal(1500, context.kv_blocks)
      assert.equal(16, context.block_size)
      assert.equal(1024, context.max_num_seqs)
      assert.equal(8192, context.max_num_batched_tokens)
      assert.is_true(context.free_kv_blocks >= 0 and context.free_kv_blocks <= 1500)
      for _, request in ipairs(context.waiting) do
        assert.is_true(request.arrival_us <= context.now_us)
        assert.equal(0, request.progress_tokens)
      end
      for _, request in ipairs(context.running) do
        longest = math.max(longest, request.progress_tokens)
        assert.is_false((pcall(function() return request.output_tokens end)))
      end
      return as_usual(context)
    end }
    assert.same({ instance_0 = true, instance_1 = true }, seen)
    assert.equal(150, result.completed)
    assert.is_true(longest > 956 and longest < 956 + 30)
  end)

  it("says how large chunks are", function()
    local steps = {}
    for _, tokens in ipairs { 100, 400, 5000 } do
      local most = 0
      local r = run({ name = "chunks", make_batch = function(context)
        local schedule = {}
        for _, list in ipairs { context.running, context.waiting } do
          for _, request in ipairs(list) do
            most = math.max(most, request.progress_tokens)
            schedule[#schedule + 1] = { request, tokens }
          end
        end
        return { schedule = schedule }
      end }, { cluster = { instances = 1 }, workload = { rate = 1, requests = 3,
        prompt_tokens = 1000, output_tokens = 1 } })
      steps[#steps + 1] = r.instances[1].steps
      assert.equal(3, r.completed)
    end
    assert.same({ 30, 9, 3 }, steps)
  end)

  it("may let requests wait, and is asked again", function()
    local asked = 0
    local r = run({ name = "static", make_batch = function(context)
      asked = asked + 1
      if #context.running > 0 then return { schedule = context.running } end
      if #context.waiting < 4 and context.now_us < 2000000 then return { wait_us = 5000 } end
      return { schedule = context.waiting } -- a batch of four, to its end
    end }, { cluster = { instances = 1 }, workload = { rate = 5, requests = 8, prompt_tokens = 100,
      output_tokens = 10 } })
    assert.equal(8, r.completed)
    assert.is_true(asked > 30)
    assert.is_true(r.ttft_ms.max > 200)
  end)

  it("may preempt, and go by what it likes", function()
    local preempted = 0
    local r = run({ name = "one at a time", make_batch = function(context)
      local running, waiting = context.running, context.waiting
      if #running > 0 and #waiting > 0 and waiting[1].prompt_tokens < running[1].prompt_tokens then
        preempted = preempted + 1
        return { preempt = { running[1] }, schedule = { waiting[1] } }
      end
      return { schedule = { running[1] or waiting[1] } }
    end }, { cluster = { instances = 1 }, workload = { rate = 5, requests = 20,
      prompt = { "gaussian", mean = 500, std_dev = 300, min = 20, max = 1500 },
      output_tokens = 20 } })
    assert.equal(20, r.completed)
    assert.is_true(preempted > 0)
    assert.equal(preempted, r.preemptions)
  end)

  it("hears of arrivals", function()
    local arrivals, last_us = {}, 0
    local changes = { cluster = old_defaults.pinned() }
    local r = run({ name = "hears", make_batch = as_usual, on_arrival = function(request, now_us)
      arrivals[#arrivals + 1] = request.id
      assert.is_true(request.arrival_us <= now_us and last_us <= now_us)
      last_us = now_us
    end }, changes)
    assert.equal(150, #arrivals)
    assert.equal(run("fcfs", changes).hash, r.hash)
  end)

  it("works with little room, with pools and as a clone", function()
    local tight = { cluster = { kv_blocks = 150 } }
    assert.equal(run("fcfs", tight).hash,
      run({ name = "usual", make_batch = as_usual }, tight).hash)
    local pools = { cluster = { prefill_instances = 1, decode_instances = 1 } }
    assert.equal(150, run({ name = "usual", make_batch = as_usual }, pools).completed)
    local sim = blis.simulation { scheduler = { name = "usual", make_batch = as_usual },
      workload = { rate = 20, requests = 60 } }
    sim:run_until(1000000)
    local clone = sim:clone()
    assert.equal(sim:run().hash, clone:run().hash)
  end)

  it("says what is wrong", function()
    local function of(plan) return message_of(run, { name = "odd", make_batch = plan }) end
    says(of(function() return 5 end), "expected { schedule = {...} }")
    says(of(function(c) return { c.waiting[1] } end), "a batch has schedule, preempt and wait_us")
    says(of(function() return { schedule = { {} } } end), "as this call has them")
    local kept
    says(of(function(c)
      kept = kept or c.waiting[1]
      return { schedule = { kept } }
    end), "schedule[1] is a table, expected a request of context.running or context.waiting, as")
    says(of(function() return { schedule = 3 } end), "schedule is 3, expected a list of requests")
    says(of(function() return { schedule = { 7 } } end), "schedule[1] is 7")
    says(of(function(c) return { schedule = { first = c.waiting[1] } } end),
      "schedule has the key the string 'first', expected a list of requests: { first, second }")
    says(of(function(c) return { schedule = { [3] = c.waiting[1] } } end), "schedule has the key 3")
    says(of(function(c) return { preempt = { [c.waiting[1]] = true } } end),
      "preempt has the key a table")
    says(of(function(c) return { schedule = { c.waiting[1], nil, 7 } } end), "schedule[2] is nil")
    says(of(function(c) return { schedule = { c.waiting[1], c.waiting[1] } } end),
      "schedule[2]: duplicate request")
    says(of(function(c) return { schedule = { { c.waiting[1], 0 } } } end), "0 tokens")
    says(of(function(c) return { preempt = { c.waiting[1] } } end), "preempt[1] does not run")
    says(of(function() return { wait_us = 0 } end), "wait_us is 0")
    says(message_of(run, { name = "idle", make_batch = function() return {} end },
      { workload = { requests = 2 } }), "no request has made progress")
    says(of(function() error "mine" end), "scheduler 'odd'")
    says(message_of(run, { make_batch = 5 }), "expected a function")
    says(message_of(run, { name = "x", make_batch = as_usual, on_arrival = 5 }), "on_arrival")
    says(message_of(run, { name = "x", make_batch = as_usual, goes_before = as_usual }),
      "goes_before")
  end)
end)
